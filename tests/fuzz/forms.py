"""What the lines of `tests.fuzz.sized` are made of. The names in braces: x and y are tensors, d and e dims of x, s a size."""

from __future__ import annotations


def _forms(text: str) -> tuple[str, ...]:
    return tuple(form.strip() for form in text.split(";"))


# Numbers that may be symbols.
SIZES = _forms(
    """
    {x}.shape[{d}] ; {x}.shape[{d}] // 2 ; 1 ; 2 ; {x}.shape[{d}] - 1 ; {x}.size({d})
    """
)
# Views of x, and copies that may be views.
VIEWS = _forms(
    """
    {x}.transpose({d}, {e}) ; {x}.permute({order}) ; {x}.reshape(-1) ; {x}.view(-1) ; {x}.flatten() ; {x}.unsqueeze({d}) ;
    {x}.squeeze() ; {x}.squeeze({d}) ; {x}.narrow({d}, 0, {s}) ; {x}.narrow({d}, 1, {x}.shape[{d}] - 1) ; {x}.select({d}, 0) ;
    {x}.select({d}, -1) ; {x}[..., ::2] ; {x}[1:] ; {x}[:-1] ; {x}[:{s}] ; {x}[{s}:] ; {x}[0] ; {x}[None] ; {x}[..., None] ;
    {x}.expand(2, *{x}.shape) ; {x}.unflatten({d}, (-1, 1)) ; {x}.unflatten({d}, (1, {x}.shape[{d}])) ;
    {x}.reshape({x}.shape[0], -1) ; {x}.reshape(-1, {x}.shape[-1]) ; {x}.reshape({turned}) ; {x}.split(2, {d})[0] ;
    {x}.chunk(2, {d})[-1] ; {x}.unbind({d})[0] ; {x}.unfold({d}, 2, 1) ; {x}.unfold({d}, 1, 2) ; {x}.movedim({d}, {e}) ;
    {x}.diagonal(0, {d}, {e}) ; {x}.t() ; {x}.mT ; {x}.detach() ; {x}.view({x}.shape) ; {x}.contiguous() ;
    {x}.swapaxes({d}, {e}) ; {x}.as_strided(({x}.shape[0],), (1,), 0) ; {x}.tensor_split(2, {d})[1] ; {x}.flatten(0, 1) ;
    {x}.view_as({x}) ; {x}.clone() ; {x}[:, None] ; {x}[..., -1:] ; {x}[::2, ...] ; {x}.expand_as({x}) ; {x}.reshape(1, -1, 1) ;
    {x}.hsplit(1)[0]
    """
)
# Elements moved, joined and repeated.
MOVES = _forms(
    """
    {x}.flip({d}) ; {x}.flip({d}, {e}) ; {x}.roll({s}, {d}) ; {x}.roll(-1, {d}) ; {x}.roll(3) ; weft.cat([{x}, {y}], {d}) ;
    weft.cat([{x}, {x}[:1], {x}]) ; weft.stack([{x}, {y}], {d}) ; F.pad({x}, (1, 2), value=3) ; F.pad({x}, (-1, 1)) ;
    F.pad({x}, (0, 0, 1, 0)) ; {x}.repeat(2, *{ones}) ; {x}.repeat_interleave(2, {d}) ; {x}.tril() ; {x}.triu(1) ; {x}.rot90() ;
    weft.tile({x}, (2,)) ; weft.hstack([{x}, {y}]) ; weft.vstack([{x}, {y}]) ; {x}.diag_embed() ; weft.block_diag({x}, {y}) ;
    F.pad({x}, (1, 1), mode='replicate') ; F.pad({x}, (1, 1), mode='reflect') ; F.pad({x}, (1, 0), mode='circular') ;
    weft.cartesian_prod({x}.reshape(-1)[:4]) ; weft.meshgrid({x}.reshape(-1)[:3], {y}.reshape(-1)[:4], indexing='ij')[1] ;
    weft.kron({x}, {y})[:9] ; weft.cat([{x}.flatten(), {y}.flatten()])[::3]
    """
)
# Elements one by one.
POINTWISE = _forms(
    """
    {x} + {y} ; {x} - {y} ; {x} * {y} ; weft.maximum({x}, {y}) ; weft.minimum({x}, {y}) ; weft.where({x} > {y}, {x}, {y}) ;
    {x} + 1 ; {x} * 2 ; -{x} ; {x}.abs() ; {x}.relu() ; {x} == {y} ; {x} < {y} ; {x} != 0 ; {x} % 3 ; {x} // 2 ; {x}.sign() ;
    {x} & {y} ; {x} | 1 ; {x} ^ {y} ; ~{x} ; {x} << 1 ; {x} >> 1 ; {x}.masked_fill({x} > 1, 2) ; {x} * {x}.shape[0] ;
    {x} + weft.arange({x}.shape[-1]) ; weft.where({x} > 0, {y}, 0) ; {x}.clamp(min=0) ; {x}.logical_not() ; {x}.isnan() ;
    {x}.isinf() ; {x}.nan_to_num(1, 2, 3) ; weft.fmax({x}, {y}) ; {x} / 2 ; {x}.square() ; weft.lerp({x}, {x}, 0.5) ;
    weft.addcmul({x}, {y}, {y}) ; {x}.eq({x}.flip(0)) ; {x}.float() + {y} ; {x}.add({y}, alpha=2) ; 3 - {x} ; {x}.copysign({y}) ;
    {x}.heaviside({y}) ; {x}.bool().logical_xor({y}.bool()) ; {x}.fmod(3) ; {x}.remainder(-3) ; {x}.trunc() ;
    weft.hypot({x} * 0, {x})
    """
)
# Of a reduction `name`; `part` takes the first of two results.
REDUCTIONS = _forms(
    """
    {x}.{name}().clamp(-8, 8) ; {x}.{name}({d}){part} ; {x}.{name}({d}, keepdim=True){part} ;
    {x}.{name}(({d}, {e})) ; {x}.reshape({x}.shape[0], -1).{name}(-1){part} ; {x}.unsqueeze(-1).{name}({d}){part} ;
    {x}.transpose({d}, {e}).reshape(-1).{name}(0){part} ; {x}.unflatten({d}, (-1, 2)).{name}({d}){part} ;
    {x}.expand(3, *{x}.shape).{name}(0){part} ; {x}.flip({d}).{name}({d}){part}
    """
)
# Running results and orders.
SCANS = _forms(
    """
    ({x} % 3).cumsum({d}).clamp(-8, 8) ; ({x} % 2).cumprod({d}) ; {x}.cummax({d})[{which}] ; {x}.cummin({d})[0] ;
    {x}.sort({d}, stable=True)[{which}] ; {x}.diff(dim={d}) ; {x}.flip({d}).cumsum({d}).clamp(-8, 8) ;
    {x}.transpose(0, {d}).cumsum({d}).clamp(-8, 8) ; {x}.reshape(-1).cumsum(0).clamp(-8, 8) ; {x}.argsort({d}, stable=True) ;
    {x}.cumsum({d}).sum({d}).clamp(-8, 8) ; {x}.cummax({d})[0].cumsum({d}).clamp(-8, 8) ; {x}.logical_not().cumsum({d})
    """
)
# Indices, some of them several times.
INDICES = _forms(
    """
    weft.arange({x}.shape[{d}]).flip(0) ; weft.zeros({x}.shape[{d}], dtype=weft.int64) ; weft.arange(3) % {n} ;
    (weft.arange({x}.shape[{d}]) // 2) ; ({y}.long().reshape(-1) % {n})[:5] ; weft.tensor([0, -1, 0]) ;
    weft.tensor([], dtype=weft.int64)
    """
)
# Elements found, added and written at places that tensors name.
PLACES = _forms(
    """
    {x}.index_select({d}, {index}) ; {x}[{before}{index}] ; {x}.gather({d}, {like}) ;
    {x}.scatter_add({d}, {like}, {x}).clamp(-8, 8) ; weft.zeros_like({x}).scatter_add({d}, {like}, {x}).clamp(-8, 8) ;
    {x}.index_add({d}, {index}, {x}.index_select({d}, {index})).clamp(-8, 8) ; {x}.take_along_dim({like}, {d}) ;
    {x}.scatter_reduce({d}, {like}, {x}, '{extreme}', include_self={flag}).clamp(-8, 8) ;
    {x}.index_put(({index} % {x}.shape[0],), {x}[{index} % {x}.shape[0]], accumulate=True).clamp(-8, 8) ;
    {x}.index_fill({d}, {index}, 3) ; {x}.index_copy({d}, weft.arange({x}.shape[{d}]).flip(0), {x} * 2) ;
    {x}.scatter({d}, {x}.argsort({d}, stable=True), {x}) ; {x}.scatter({d}, {like}, 2) ; {x}[{x} > 0].sum().clamp(-8, 8) ;
    {x}.take({like}) ; {x}.topk(1, {d})[0] ; {x}.masked_select({x} > 1) ; {x}.nonzero() ; {x}[{like}] ;
    weft.bincount({x}.reshape(-1).long().abs()) ; weft.searchsorted({x}.reshape(-1).sort()[0], {y}.reshape(-1).to({x}.dtype)) ;
    F.one_hot({x}.long().abs() % 4, 4) ; F.embedding({x}.long().abs() % 3, weft.arange(6.).reshape(3, 2))
    """
)
# Writes of x, of any number of dims.
WRITES = _forms(
    """
    {x}.add_(1) ; {x}.mul_(2).clamp_(-8, 8) ; {x}.zero_() ; {x}.copy_({y}) ; {x}.fill_(2) ; {x}.clamp_(min=0) ;
    {x}.add_({y}).clamp_(-8, 8) ; {x}.masked_fill_({x} > 0, 1) ; {x}.neg_() ; {x}.relu_() ; {x}.bitwise_not_() ;
    {x}.transpose_(0, -1) ; {x}.unsqueeze_(0) ; {x}.squeeze_()
    """
)
# Writes of x through views of it.
WRITES_OF_PARTS = _forms(
    """
    {x}[0].add_(1) ; {x}[..., 0] = 3 ; {x}[1:] = {x}[:-1].clone() ; {x}[:1].copy_({y}[:1]) ; {x}.select({d}, -1).zero_() ;
    {x}.transpose(0, {d})[0].neg_() ; {x}[{x} > 1] = 0 ; {x}.view(-1)[::2].mul_(-1) ; {x}.reshape(-1)[:3].fill_(1) ;
    {x}.narrow({d}, 0, 1).add_(2) ; {x}.diagonal().fill_(1) ;
    {x}.index_add_({d}, weft.arange({x}.shape[{d}]), {x}.clone()).clamp_(-8, 8) ;
    {x}.scatter_({d}, {x}.argsort({d}, stable=True), 1) ; {x}.flip({d}).add_(1) ; {x}[weft.tensor([0, 0])] = 2 ;
    {x}.index_fill_({d}, weft.tensor([0]), 3) ; {x}.squeeze({d}).add_(1) ; {x}[:, 0].copy_({y}[..., 0]) ;
    {x}.unfold(0, 1, 1).add_(1) ; {x}.t().mul_(2) ; {x}.expand_as({x}).sub_(1) ; {x}.cumsum_(0).clamp_(-8, 8) ;
    {x}[::2].add_({x}[::2].flip(0)) ; {x}.unsqueeze(1)[..., -1].fill_(2) ; {x}.detach().add_(1) ; {x}.split(1, {d})[0].zero_() ;
    {x}.reshape(-1).add_(1) ; {x}.contiguous().add_(1) ; {x}.to({x}.dtype).add_(1) ; {x}.flatten(0, 1).neg_() ;
    {x}.unbind({d})[-1].fill_(0)
    """
)
# Tensors made by sizes.
MADE = _forms(
    """
    weft.arange({s}) ; weft.zeros_like({x}) ; weft.ones({s}, 2) ; {x}.new_full(({s},), 3) ; weft.eye({s}) ;
    weft.full_like({x}, 2) ; weft.arange(0, {s}, 2) ; weft.tril_indices({s}, 3) ; weft.empty_like({x}).fill_(1) ;
    {x}.new_zeros({x}.shape) ; weft.linspace(0, 4, 5) ; weft.tensor({x}.shape[{d}]) ;
    weft.ones({x}.shape[{d}], dtype=weft.int64).cumsum(0) ; weft.full(({s}, 1), {x}.shape[{d}]) ;
    {x}.new_empty({x}.shape).copy_({x})
    """
)
# Other dtypes.
CASTS = _forms(
    """
    {x}.to(weft.{dtype}) ; {x}.float() ; {x}.long() ; {x}.half() ; {x}.bool() ; {x}.to(weft.float64, copy=True) ;
    {x}.type_as({y})
    """
)
REDUCED = ("sum", "sum", "sum", "nansum", "amax", "amin", "any", "all", "argmax", "argmin", "count_nonzero", "max", "min")
