// vecspecial.h: special functions over vectors (gamma, Bessel, inverse error function), in sections as vecmath.h has them.

//@ by_double: mvec
// VM_BY_DOUBLE(name): vm_<name> of double vectors is vm_<name>_double; floats go through it, rounded once.
#ifdef __AVX512F__
#define VM_BY_DOUBLE_VECTORS(name)                                                                                      \
  WEFT_INLINE f32x8 vm_##name(f32x8 x) { return __builtin_convertvector(vm_##name##_double(__builtin_convertvector(x, f64x8)), f32x8); } \
  WEFT_INLINE f32x16 vm_##name(f32x16 x) {                                                                              \
    const f32x8 low = vm_##name(__builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7));                                 \
    const f32x8 high = vm_##name(__builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15));                          \
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);                    \
  }                                                                                                                     \
  VM_AS_EIGHT1(name)
#elif defined(__AVX2__)
#define VM_BY_DOUBLE_VECTORS(name)                                                                                      \
  WEFT_INLINE f32x4 vm_##name(f32x4 x) { return __builtin_convertvector(vm_##name##_double(__builtin_convertvector(x, f64x4)), f32x4); } \
  WEFT_INLINE f32x8 vm_##name(f32x8 x) {                                                                                \
    const f32x4 low = vm_##name(__builtin_shufflevector(x, x, 0, 1, 2, 3)), high = vm_##name(__builtin_shufflevector(x, x, 4, 5, 6, 7)); \
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);                                                  \
  }
#else
#define VM_BY_DOUBLE_VECTORS(name)
#endif
#define VM_BY_DOUBLE(name)                                                                                              \
  template <class F> WEFT_INLINE F vm_##name(F x) {                                                                     \
    F r = x;                                                                                                            \
    if constexpr (sizeof(x[0]) == 8) r = vm_##name##_double(x);                                                         \
    else                                                                                                                \
      for (unsigned i = 0; i < sizeof(F) / sizeof(x[0]); i++) r[i] = (float)vm_##name##_double(f64x2{} + (double)x[i])[0]; \
    return r;                                                                                                           \
  }                                                                                                                     \
  VM_BY_DOUBLE_VECTORS(name)
//@ gamma_double: log sin tan rounding by_double
// Arguments below 10 go up by steps of 1 where all of them are positive: what the steps add is one quotient (Abramowitz and Stegun,
// 6.1.40, 6.3.18 and 6.4.12 for what is above, the reflections 6.1.17, 6.3.7 and 6.4.7 for negative ones).
//@ lgamma: gamma_double
VM_LANES1(lgamma)
template <class D> WEFT_INLINE D vm_lgamma_double(D x) {
  const D pi = D{} + 3.14159265358979323846;
  const auto mirrored = x < 0.5;
  D y = mirrored ? 1.0 - x : x, product = D{} + 1.0;
  for (int k = 0; k < 8; k++) {
    const auto low = y < 8.0;
    product = low ? product * y : product;
    y = low ? y + 1.0 : y;
  }
  const D z = 1.0 / y, s = z * z;
  D series = vm_fma(s, D{} + 0.0064102564102564103, D{} - 0.0019175269175269176);
  series = vm_fma(series, s, D{} + 0.00084175084175084171);
  series = vm_fma(series, s, D{} - 0.00059523809523809529);
  series = vm_fma(series, s, D{} + 0.00079365079365079365);
  series = vm_fma(series, s, D{} - 0.0027777777777777779);
  series = vm_fma(series, s, D{} + 0.083333333333333329) * z;
  const D large = vm_fma(y - 0.5, vm_log(y), -y) + (0.91893853320467274 + series);
  const D sine = vm_abs(vm_sin(pi * (x - vm_round(x))));
  const D small = vm_log(mirrored ? pi * product / sine : 1.0 / product);
  D r = mirrored ? small - large : large + small;
  r = (x == 1.0) | (x == 2.0) ? D{} : r;
  r = vm_abs(x) == __builtin_inf() ? vm_abs(x) : r;
  return (x <= 0.0) & (x == vm_round(x)) ? D{} + __builtin_inf() : r;
}
VM_BY_DOUBLE_VECTORS(lgamma)
//@ digamma: gamma_double
template <class D> WEFT_INLINE D vm_digamma_double(D x) {
  const D pi = D{} + 3.14159265358979323846;
  const auto negative = x < 0.0;
  D y = negative ? 1.0 - x : x, up = D{}, down = D{} + 1.0;
  for (int k = 0; k < 10; k++) {
    const auto low = y < 10.0;
    up = low ? vm_fma(up, y, down) : up;
    down = low ? down * y : down;
    y = low ? y + 1.0 : y;
  }
  const D s = 1.0 / (y * y);
  D series = vm_fma(s, D{} - 0.083333333333333329, D{} + 0.021092796092796094);
  series = vm_fma(-s, series, D{} + 0.0075757575757575760);
  series = vm_fma(-s, series, D{} + 0.0041666666666666666);
  series = vm_fma(-s, series, D{} + 0.0039682539682539680);
  series = vm_fma(-s, series, D{} + 0.0083333333333333332);
  series = vm_fma(-s, series, D{} + 0.083333333333333329);
  D r = vm_log(y) - 0.5 / y - s * series - up / down;
  const D f = x - vm_trunc(x);
  r = negative ? r - pi / vm_tan(pi * f) : r;
  r = y == __builtin_inf() ? x : r;
  r = negative & ~(vm_abs(f) > 0.0) ? D{} + __builtin_nan("") : r;
  return x == 0.0 ? vm_copysign(D{} + __builtin_inf(), -x) : r;
}
VM_BY_DOUBLE(digamma)
//@ trigamma: gamma_double
template <class D> WEFT_INLINE D vm_trigamma_double(D x) {
  const D pi = D{} + 3.14159265358979323846;
  const auto negative = x < 0.0;
  D y = negative ? 1.0 - x : x, up = D{}, down = D{} + 1.0;
  for (int k = 0; k < 10; k++) {
    const auto low = y < 10.0;
    const D square = y * y;
    up = low ? vm_fma(up, square, down) : up;
    down = low ? down * square : down;
    y = low ? y + 1.0 : y;
  }
  const D z = 1.0 / y, s = z * z;
  D series = vm_fma(s, D{} + 1.1666666666666667, D{} - 0.25311355311355310);
  series = vm_fma(series, s, D{} + 0.075757575757575760);
  series = vm_fma(series, s, D{} - 0.033333333333333333);
  series = vm_fma(series, s, D{} + 0.023809523809523808);
  series = vm_fma(series, s, D{} - 0.033333333333333333);
  series = vm_fma(series, s, D{} + 0.16666666666666666);
  D r = vm_fma(series * s, z, vm_fma(s, D{} + 0.5, z)) + up / down;
  const D sine = vm_sin(pi * (x - vm_round(x))), ratio = pi / sine;
  r = negative ? ratio * ratio - r : r;
  return (x <= 0.0) & (x == vm_round(x)) ? D{} + __builtin_inf() : r;
}
VM_BY_DOUBLE(trigamma)
//@ bessel: exp sqrt horner by_double
// Modified Bessel functions of the orders 0 and 1: polynomials for exp(-|x|) i(x) below 8 (by x for order 1), and for that times
// sqrt|x| above, in 16/|x|; by Chebyshev's points, to 1e-16. The exponential in two halves overflows where the result does.
static const double vm_i0_low[] = {
  0.2070019212239867, -0.11300432688620549, 0.094515628539951033, -0.089043441360759618, 0.087343416175523131,
  -0.084963380916163053, 0.079275225907163474, -0.06954119561719381, 0.056777032019916948, -0.04298594945479612,
  0.030177912022978357, -0.019682654690592341, 0.011960077907026221, -0.0067923998730731695, 0.0036171264488970428,
  -0.0018118867939377239, 0.0008563152748272306, -0.00038290209550065975, 0.00016240542162878106,
  -6.5508613896208509e-05, 2.5202327271076921e-05, -9.251680584432654e-06, 3.2293390826404927e-06,
  -1.0883393970072518e-06, 3.675842926555429e-07, -1.1384114641747256e-07, 2.6265363151970112e-08,
  -7.7230945568463327e-09, 4.4705167275117407e-09, -1.1852342482684723e-09};
static const double vm_i0_high[] = {
  0.40217650944500816, 0.0033605519836677504, 0.00013621607437904054, 1.1143033800708978e-05, 1.4838480973971801e-06,
  2.9735960465627118e-07, 8.8713600387547075e-08, 3.9328893751146339e-08, 2.1620199017859248e-08,
  7.5343558438033418e-09, -7.1010934904762744e-09, -1.3326094405766387e-08, -4.3057274269883612e-09,
  7.3359687108161536e-09, 5.1919580836693993e-09, -3.1346276429240787e-09, -2.9337366286377844e-09,
  1.1050558794424347e-09, 9.7357766250852424e-10, -2.8033819978869995e-10, -1.4824893214970786e-10,
  3.6293552297187331e-11};
static const double vm_i1_low[] = {
  0.044687709875608835, -0.061124338029666291, 0.068057599909511601, -0.068482606205825469, 0.063767403713407209,
  -0.055280039227051464, 0.044674572621254668, -0.03367135551992323, 0.023686016957729535, -0.015571309256763564,
  0.009583962150731578, -0.0055345677592412296, 0.0030057624197775295, -0.0015388749696724586, 0.00074451234450611571,
  -0.00034117472445271377, 0.0001484212433475852, -6.1426557197047607e-05, 2.4233753149624307e-05,
  -9.1317757305685711e-06, 3.2938991390037488e-06, -1.1381566323785447e-06, 3.7593673064041182e-07,
  -1.1993980285486188e-07, 3.802984785138283e-08, -1.1224475126135595e-08, 2.6032065423311571e-09,
  -7.2770335560738356e-10, 3.7284532079392345e-10, -9.506861180736366e-11};
static const double vm_i1_high[] = {
  0.38939845902587228, -0.0097495771932356347, -0.00021923576382047057, -1.5038547209501858e-05,
  -1.8349106860450982e-06, -3.4838534380376333e-07, -1.0000393426323456e-07, -4.3131964899777332e-08,
  -2.3448682413065369e-08, -8.4091820404429177e-09, 7.1023061012586319e-09, 1.3958551001385955e-08,
  4.8307021641857403e-09, -7.4444414771972697e-09, -5.5590753458538014e-09, 3.0868867367227251e-09,
  3.1008802702394666e-09, -1.0594544160443166e-09, -1.0230972770946493e-09, 2.6340771095136483e-10,
  1.5532708319177999e-10, -3.3654318531801763e-11};
template <int order, class D> WEFT_INLINE D vm_bessel_i(D x) {
  const D a = vm_abs(x), near = a < 8.0 ? a : D{} + 8.0, far = a > 8.0 ? a : D{} + 8.0;
  const D t = near * 0.25 - 1.0, u = 16.0 / far - 1.0, e = vm_exp(a * 0.5);
  const D low = order ? vm_horner(vm_i1_low, t) * near : vm_horner(vm_i0_low, t);
  const D high = (order ? vm_horner(vm_i1_high, u) : vm_horner(vm_i0_high, u)) / vm_sqrt(far);
  const D r = (a < 8.0 ? low : high) * e * e;
  return x != x ? x : order ? vm_copysign(r, x) : r;
}
template <class D> WEFT_INLINE D vm_i0_double(D x) { return vm_bessel_i<0>(x); }
template <class D> WEFT_INLINE D vm_special_i1_double(D x) { return vm_bessel_i<1>(x); }
VM_BY_DOUBLE(i0)
VM_BY_DOUBLE(special_i1)
//@ erfinv: erf erfc exp log sqrt horner
// x times a polynomial in w = -log(1 - x^2), above w = 5 in its root (as Giles, 2012, ours by Chebyshev's points); double: two Halley
// steps on erf(y) = x more, from where the tail is good to 1e-4.
static const double vm_erfinv_near[] = {
  1.5014093517282388, 0.61660069198670087, -0.026108280762080514, -0.019573564270649057, 0.008525934497817092,
  -0.00048787647495549788, -0.00083646873822000958, 0.00029213577974979843, 2.5157435365049296e-05,
  -4.1400436180749841e-05, 4.1495774334934372e-06, 2.9311370421177089e-06};
static const double vm_erfinv_far[] = {
  3.0433666276789002, 0.97829618551635966, 0.0055454320215588071, -0.0038593888055816761, 0.0025661958843531812,
  -0.0016892790362531222, 0.00089762692188153498, -0.00029781092365765635, -2.5103174104854589e-06,
  7.0890105293846552e-05, -4.195930723941766e-05, 6.1329394042062156e-06, 5.6486304344536722e-06,
  -2.4291604486190342e-06};
static const double vm_erfinv_end[] = {
  4.0419693775873258, 1.9836777651419935, 0.0031197223215172769, -0.0057161257992776318, 0.0034770003928339,
  0.00096245870009901275, 0.0007570811745788627, -0.0058802566776144944, 0.0035313127963943055};
template <class F> WEFT_INLINE F vm_erfinv_start(F x, F w, F far) {
  typedef decltype(F{}[0] + F{}[0]) E;
  const F near = vm_horner(vm_erfinv_near, (w < (E)5 ? w : F{} + (E)5) * (E)0.4 - (E)1);
  return x * (w < (E)5 ? near : far);
}
// The ends are infinities, and what is beyond has no inverse.
template <class F> WEFT_INLINE F vm_erfinv_ends(F x, F y) {
  typedef decltype(F{}[0] + F{}[0]) E;
  const F most = F{} + (E)__builtin_inf();
  y = vm_abs(x) == (E)1 ? vm_copysign(most, x) : y;
  return vm_abs(x) <= (E)1 ? y : F{} + (E)__builtin_nan("");
}
template <class F> WEFT_INLINE F vm_erfinv(F x) {
  const F b = vm_abs(x), w = -vm_log((1.0 - b) * (1.0 + b));
  F a = vm_erfinv_start(b, w, vm_horner(vm_erfinv_end, (vm_sqrt(w) - 4.2002409902343825) * 0.5091201200284101));
  for (int i = 0; i < 2; i++) {
    const F miss = b > 0.5 ? (1.0 - b) - vm_erfc(a) : vm_erf(a) - b;
    const F u = miss / (1.12837916709551257390 * vm_exp(-a * a));
    a = a - u / (1.0 + a * u);
  }
  return vm_erfinv_ends(x, b < 1e-8 ? x * 0.88622692545275801365 : vm_copysign(a, x));
}
template <class F> WEFT_INLINE F vm_erfinv32(F x) {
  const F w = -vm_log((1.0f - x) * (1.0f + x));
  return vm_erfinv_ends(x, vm_erfinv_start(x, w, vm_horner(vm_erfinv_far, (vm_sqrt(w) - 3.209684055085084f) * 1.0270988976272268f)));
}
VM_OWN32(erfinv)
