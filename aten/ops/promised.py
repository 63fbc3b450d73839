"""The ops that each family on demand declares: `=` names the op that a name is another one of, `.` a method of tensors.

Written by `python -m tests.aten.promised_ops`.
"""

PROMISED = {
    "activation":
        "elu_core softplus_core hardtanh_core hardsigmoid_core leaky_relu_core hardshrink_core softshrink_core "
        "threshold_core hardswish_core logsigmoid_core mish_core glu_core glu_core_backward relu6 relu6_. leaky_relu "
        "leaky_relu_. elu elu_. selu. selu_. celu. celu_. hardtanh hardtanh_. softplus mish mish_. hardsigmoid "
        "hardsigmoid_. hardswish hardswish_. softsign tanhshrink softshrink hardshrink. threshold threshold_. logsigmoid "
        "glu _prelu_kernel. prelu. rrelu logit. logit_. logit_core gelu",
    "attention":
        "scaled_dot_product_attention dropout_attention scaled_dot_product_attention_backward dropout_attention_backward",
    "bessel":
        "special_modified_bessel_i0 special_modified_bessel_i1 special_bessel_j0. special_bessel_j1. special_bessel_y0. "
        "special_bessel_y1. special_modified_bessel_k0. special_modified_bessel_k1. special_scaled_modified_bessel_k0. "
        "special_scaled_modified_bessel_k1. special_airy_ai. special_spherical_bessel_j0. special_zeta. igamma. igamma_. "
        "igammac. igammac_. special_gammainc=igamma. special_gammaincc=igammac.",
    "class_loss":
        "nll_loss class_loss cross_entropy multi_margin_loss multilabel_soft_margin_loss multilabel_margin_loss "
        "label_margins label_margins_backward",
    "condition_number":
        "linalg_cond",
    "conv":
        "conv1d conv_transpose1d conv2d conv_transpose2d conv3d conv_transpose3d columns_of_image image_of_columns "
        "im2col col2im pixel_shuffle. pixel_unshuffle. channel_shuffle.",
    "convolution":
        "convolution convolution_weight",
    "covariance":
        "cov. corrcoef.",
    "ctc":
        "ctc_loss ctc_loss_of ctc_alignments ctc_alignments_backward",
    "determinant":
        "slogdet linalg_det adjugate",
    "differences":
        "diff. trapezoid trapz=trapezoid cumulative_trapezoid gradient",
    "distance":
        "cdist row_distances row_distances_backward row_distances_within row_distances_within_backward pdist "
        "triplet_margin_with_distance_loss",
    "draws":
        "poisson_philox poisson binomial_philox binomial standard_gamma_philox standard_gamma_grad _standard_gamma "
        "_sample_dirichlet",
    "embedding_bag":
        "bags_of_rows embedding_sums embedding_sums_backward embedding_dots embedding_maxima",
    "factored":
        "lu_solve_matrix product_of_reflections reflected",
    "fake_quantize":
        "fake_quantized fake_quantize_per_tensor_affine fake_quantize_per_channel_affine",
    "fft":
        "fft_c2c fft_r2c fft_c2r fft_fft fft_fft2 fft_fftn fft_ifft fft_ifft2 fft_ifftn fft_rfft fft_rfft2 fft_rfftn "
        "fft_irfft fft_irfft2 fft_irfftn fft_hfft fft_hfft2 fft_hfftn fft_ihfft fft_ihfft2 fft_ihfftn fft_fftshift "
        "fft_ifftshift fft_fftfreq fft_rfftfreq stft. istft.",
    "fractional_pool":
        "drawn_maxima fractional_max_pool2d_with_indices fractional_max_pool2d fractional_max_pool3d_with_indices "
        "fractional_max_pool3d",
    "gradients":
        "gelu_gradient silu_gradient softmax_gradient norm_gradient attention_gradient batch_norm_training",
    "grouped_mm":
        "grouped_product grouped_mm",
    "hashing":
        "hash_tensor.",
    "histogram":
        "bincount. histc. one_hot histogramdd_kernel histogramdd histogram.",
    "ldl":
        "linalg_ldl_factor_ex linalg_ldl_factor ldl_solve_matrix linalg_ldl_solve",
    "linalg":
        "linalg_inv solve_matrix solve_triangular_matrix cholesky_lower solve_factored linalg_qr linalg_eigh "
        "hermitian_values linalg_svd singular_values linalg_eig linalg_lu_factor_ex permutation_of pinv_cut geqrf.",
    "linalg_info":
        "cholesky_info solve_info",
    "linalg_public":
        "linalg_solve linalg_solve_ex linalg_inv_ex linalg_cholesky linalg_cholesky_ex cholesky. cholesky_solve. "
        "cholesky_inverse. linalg_solve_triangular triangular_solve. linalg_lstsq linalg_pinv pinverse. "
        "linalg_matrix_rank linalg_slogdet=slogdet det. logdet. inverse. linalg_eigvalsh linalg_eigvals linalg_svdvals "
        "svd. qr. linalg_lu_factor linalg_lu lu. lu_unpack linalg_lu_solve lu_solve. linalg_householder_product orgqr. "
        "ormqr. linalg_matrix_norm linalg_norm linalg_matrix_power matrix_power. linalg_multi_dot linalg_vander "
        "linalg_vecdot linalg_diagonal linalg_matmul linalg_tensorinv linalg_tensorsolve svd_lowrank pca_lowrank",
    "linear_loss":
        "linear_class_nll linear_cross_entropy",
    "loss":
        "huber_values huber_core smooth_l1_values smooth_l1_core mse_values l1_values mse_loss l1_loss smooth_l1_loss "
        "soft_margin_loss huber_loss hinge_embedding_loss margin_ranking_loss cosine_similarity cosine_embedding_loss "
        "pairwise_distance triplet_margin_loss bce_core bce_values bce_logits_values binary_cross_entropy "
        "binary_cross_entropy_with_logits kl_div kl_div_said poisson_nll_loss check_variances gaussian_nll_loss",
    "matrix_exp":
        "matrix_exp. linalg_matrix_exp=matrix_exp.",
    "multihead_attention":
        "multi_head_attention_forward",
    "multinomial":
        "multinomial_philox multinomial.",
    "native_activations":
        "silu_backward mish_backward hardswish_backward hardsigmoid_backward hardtanh_backward softshrink_backward "
        "hardshrink_backward softplus_backward logit_backward glu_backward gelu_backward threshold_backward "
        "sigmoid_backward tanh_backward _add_relu _add_relu_. leaky_relu_backward elu_backward log_sigmoid_forward "
        "log_sigmoid_backward native_mse_loss mse_loss_backward native_l1_loss l1_loss_backward native_smooth_l1_loss "
        "smooth_l1_loss_backward native_huber_loss huber_loss_backward native_soft_margin_loss soft_margin_loss_backward "
        "native_kl_div kl_div_backward native_binary_cross_entropy binary_cross_entropy_backward "
        "native_binary_cross_entropy_with_logits binary_cross_entropy_with_logits_backward native_nll_loss "
        "cross_entropy_loss",
    "native_attention":
        "_safe_softmax _masked_softmax _scaled_dot_product_attention_math _scaled_dot_product_flash_attention_for_cpu "
        "_flash_attention_forward _efficient_attention_forward _scaled_dot_product_flash_attention "
        "_scaled_dot_product_efficient_attention _scaled_dot_product_cudnn_attention",
    "native_backward":
        "avg_pool1d_backward avg_pool2d_backward avg_pool3d_backward _adaptive_avg_pool2d_backward "
        "max_pool2d_with_indices_backward adaptive_max_pool2d_backward fractional_max_pool2d_backward "
        "_adaptive_avg_pool3d_backward max_pool3d_with_indices_backward adaptive_max_pool3d_backward "
        "fractional_max_pool3d_backward max_pool2d_with_indices adaptive_max_pool2d_with_indices "
        "native_fractional_max_pool2d max_pool3d_with_indices adaptive_max_pool3d_with_indices "
        "native_fractional_max_pool3d reflection_pad1d reflection_pad1d_backward reflection_pad2d "
        "reflection_pad2d_backward reflection_pad3d reflection_pad3d_backward replication_pad1d "
        "replication_pad1d_backward replication_pad2d replication_pad2d_backward replication_pad3d "
        "replication_pad3d_backward nll_loss_forward nll_loss_backward nll_loss2d_forward nll_loss2d_backward "
        "native_convolution convolution_backward thnn_conv2d slow_conv3d _convolution_double_backward upsample_nearest1d "
        "upsample_nearest1d_backward _upsample_nearest_exact1d _upsample_nearest_exact1d_backward upsample_nearest2d "
        "upsample_nearest2d_backward _upsample_nearest_exact2d _upsample_nearest_exact2d_backward upsample_nearest3d "
        "upsample_nearest3d_backward _upsample_nearest_exact3d _upsample_nearest_exact3d_backward upsample_linear1d "
        "upsample_linear1d_backward upsample_bilinear2d upsample_bilinear2d_backward upsample_bicubic2d "
        "upsample_bicubic2d_backward upsample_trilinear3d upsample_trilinear3d_backward _upsample_bilinear2d_aa "
        "_upsample_bilinear2d_aa_backward _upsample_bicubic2d_aa _upsample_bicubic2d_aa_backward",
    "native_names":
        "_softmax_backward_data _log_softmax_backward_data native_dropout_backward _batch_norm_with_update "
        "_native_batch_norm_legit _adaptive_avg_pool2d _adaptive_avg_pool3d native_embedding native_elu _unsafe_view "
        "_to_copy _pin_memory _unsafe_index _unsafe_index_put _unsafe_masked_index _unsafe_masked_index_put_accumulate "
        "convert_element_type fma iota _low_memory_max_pool2d_with_offsets _low_memory_max_pool2d_offsets_to_indices "
        "_softmax _log_softmax lift_fresh_copy lift_fresh resize resize_as native_dropout embedding_dense_backward "
        "select_backward slice_backward sym_size sym_numel sym_stride _new_zeros_with_same_feature_meta "
        "_grid_sampler_2d_cpu_fallback",
    "norm":
        "layer_norm rms_norm channel_norm channel_norm_backward batch_norm instance_norm group_norm batch_norm_of_one "
        "instance_norm_of_one group_norm_of_one local_response_norm normalize native_layer_norm native_group_norm "
        "native_batch_norm",
    "normal":
        "special_ndtr special_ndtri. special_log_ndtr log_ndtr_core special_erfcx.",
    "older_names":
        "frobenius_norm nuclear_norm dropout_ alpha_dropout_ feature_alpha_dropout_ feature_dropout feature_dropout_ "
        "rrelu_ resize_as_ detach_ embedding_renorm_ grid_sampler affine_grid_generator max_pool1d_with_indices conv_tbc "
        "native_channel_shuffle _weight_norm _convolution _stack _shape_as_tensor _dim_arange _euclidean_dist "
        "_is_all_true _is_any_true view_as_real_copy view_as_complex_copy _int_mm _unique2 lobpcg smm. hspmm. sspaddmm. "
        "_sparse_addmm.",
    "orthogonal":
        "special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v "
        "special_chebyshev_polynomial_w special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u "
        "special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w special_hermite_polynomial_h "
        "special_hermite_polynomial_he special_laguerre_polynomial_l special_legendre_polynomial_p",
    "padding":
        "extended_pad extended_pad_backward pad",
    "pool":
        "window_maxima window_maxima_backward window_sums window_sums_backward part_means part_means_backward "
        "part_maxima part_maxima_backward max_pool1d avg_pool1d adaptive_avg_pool1d adaptive_max_pool1d max_pool2d "
        "avg_pool2d adaptive_avg_pool2d adaptive_max_pool2d max_pool3d avg_pool3d adaptive_avg_pool3d "
        "adaptive_max_pool3d lp_pool1d lp_pool2d lp_pool3d",
    "quotient":
        "truncated_quotient direction",
    "random":
        "philox_reserve rand_philox randn_philox randint_philox rand randn randint rand_like randn_like randint_like "
        "randperm randperm_philox flat_in normal probabilities bernoulli. bernoulli_fill bernoulli_fill_. "
        "bernoulli_=bernoulli_fill_. uniform uniform_. normal_fill normal_fill_. normal_=normal_fill_. exponential "
        "exponential_. cauchy cauchy_. log_normal log_normal_. geometric geometric_. random random_. dropout_philox "
        "dropout_kept dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout",
    "recurrent":
        "rnn_tanh rnn_relu lstm gru rnn_tanh_cell rnn_relu_cell lstm_cell gru_cell",
    "recurrent_layer":
        "recurrent_layer recurrent_layer_backward",
    "resize":
        "interpolate resample resample_backward resample_bytes nearest nearest_backward upsample_nearest "
        "upsample_bilinear",
    "sampling":
        "grid_sample sample_points sample_points_backward grid_sampler_2d grid_sampler_3d affine_grid",
    "scan":
        "cumsum. cumprod. cumprod_backward cummax. cummin. logcumsumexp. cumsum_. cumprod_.",
    "softmax":
        "softmax. log_softmax. softmin gumbel_softmax",
    "sorting":
        "sort. msort. argsort. topk. kthvalue. median_dim nanmedian_dim mode. median. nanmedian. quantile. nanquantile. "
        "searchsorted bucketize nonzero. argwhere. masked_select. masked_scatter. masked_scatter_. unique_dim unique. "
        "unique_runs unique_consecutive.",
    "special":
        "rsub. square. square_. sgn. sgn_. true_divide. true_divide_. addcmul. addcmul_. addcdiv. addcdiv_. lerp. lerp_. "
        "clamp_min. clamp_min_. clamp_max. clamp_max_. clip=clamp. clip_=clamp_. masked_fill. masked_fill_. heaviside. "
        "heaviside_. heaviside_core xlogy. xlogy_. xlogy_core xlog1py_core special_xlog1py logaddexp_core "
        "logaddexp2_core logaddexp. logaddexp2. float_power. float_power_. ldexp. ldexp_. gcd. gcd_. lcm. lcm_. "
        "nan_to_num. nan_to_num_. deg2rad. deg2rad_. rad2deg. rad2deg_. sinc. sinc_. sinc_core cross. linalg_cross "
        "renorm. renorm_. vander polygamma mvlgamma. mvlgamma_. i0. i0_. special_i0e. special_i1. special_i1e. "
        "special_digamma=digamma. special_psi=digamma. special_erf=erf. special_erfc=erfc. special_erfinv=erfinv. "
        "special_exp2=exp2. special_expit=sigmoid. special_expm1=expm1. special_gammaln=lgamma. special_i0=i0. "
        "special_log1p=log1p. special_log_softmax=log_softmax. special_softmax=softmax. special_logit=logit. "
        "special_logsumexp=logsumexp. special_multigammaln=mvlgamma. special_polygamma=polygamma special_round=round. "
        "special_sinc=sinc. special_xlogy=xlogy. special_entr entr_core frexp.",
    "statistics":
        "write_statistics",
    "strided_gradient":
        "as_strided_backward",
    "take":
        "take. put. put_. take_along_dim. index_reduce. index_reduce_. unravel_index nonzero_static. sum_to_size. "
        "embedding_bag lengths_of_runs segment_reduce _segment_reduce=segment_reduce",
    "unpool":
        "max_unpool1d max_unpool2d max_unpool3d",
    "variance":
        "var. var_of_too_few var_mean. std. std_mean",
    "vector_norms":
        "power_norm linalg_vector_norm norm. dist.",
    "window":
        "signal_hann signal_hamming signal_general_hamming signal_general_cosine signal_blackman signal_nuttall "
        "signal_bartlett signal_cosine signal_exponential signal_gaussian signal_kaiser hann_window hamming_window "
        "blackman_window bartlett_window kaiser_window",
}
