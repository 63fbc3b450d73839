"""Which calls may refuse the values of what they are given, beside their sizes and dtypes: places outside of a tensor, matrices
that have no inverse, probabilities that are none, a 0 that integers are divided by, devices that are not there."""

from __future__ import annotations

from aten.fx.node import Node, is_absent, leaves, may_raise
from aten.fx.targets import is_op
from aten.op import Op

# Composites hold other ops; these hold one that refuses (what an op itself does, its declaration says: `fx.node.may_raise`).
COMPOSITES = frozenset(
    "_sample_dirichlet _segment_reduce _standard_gamma _unsafe_index _unsafe_index_put _unsafe_masked_index "
    "_unsafe_masked_index_put_accumulate bernoulli bernoulli_fill binary_cross_entropy binomial cholesky cholesky_inverse "
    "cholesky_solve cross_entropy cross_entropy_loss ctc_loss ctc_loss_of det embedding_bag embedding_dense_backward "
    "embedding_renorm gaussian_nll_loss index_copy index_fill index_reduce inverse linalg_cholesky linalg_cond linalg_eigvals "
    "linalg_eigvalsh linalg_ldl_factor linalg_ldl_solve linalg_lstsq linalg_lu linalg_lu_factor linalg_lu_solve "
    "linalg_matrix_norm linalg_matrix_power linalg_matrix_rank linalg_norm linalg_pinv linalg_solve linalg_solve_triangular "
    "linalg_svdvals linalg_tensorinv linalg_tensorsolve linear_cross_entropy logdet lu lu_solve lu_unpack masked_scatter "
    "matrix_power max_unpool1d max_unpool2d max_unpool3d multi_margin_loss multilabel_margin_loss multinomial nanquantile "
    "native_binary_cross_entropy native_embedding native_nll_loss nll_loss nll_loss2d_backward nll_loss2d_forward "
    "nll_loss_backward nll_loss_forward normal normal_fill one_hot pinverse poisson put quantile repeat_interleave "
    "segment_reduce svd svd_lowrank take take_along_dim triangular_solve unravel_index".split()
)
DIVISIONS = frozenset("div divide floor_divide fmod remainder pow".split())  # of integers


def may_refuse(node: Node) -> bool:
    """Whether the call of an op may raise for the values of its arguments."""
    op = node.target
    if not is_op(op):
        return False
    if is_absent(getattr(node.meta.get("val"), "device", None)):
        return True
    if op.name in ("getitem", "setitem"):
        index = node.args[1]
        places = index if isinstance(index, tuple) else (index,)
        return any(isinstance(p, list) for p in places) or any(isinstance(leaf, Node) for leaf in leaves(index))
    name = op.name.removesuffix("_")
    dtype = getattr(node.meta.get("val"), "dtype", None)
    whole = dtype is not None and not (dtype.is_floating_point or dtype.is_complex)
    if type(op) is not Op or name in COMPOSITES or (whole and name in DIVISIONS):
        return True
    return op.kind != "composite" and may_raise(node)
