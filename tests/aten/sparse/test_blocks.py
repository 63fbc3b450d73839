"""Matrices by rows and columns of blocks (BSR, BSC)."""

import copy
import io

import pytest

import weft as torch

DENSE = torch.tensor([[1.0, 2, 0, 0, 0, 0], [0, 3, 0, 0, 0, 0], [0, 0, 0, 0, 4, 0], [0, 0, 0, 0, 5, 6]])


def test_the_parts_are_pytorchs():
    rows = DENSE.to_sparse_bsr((2, 3))
    assert rows.layout is torch.sparse_bsr and rows.crow_indices().tolist() == [0, 1, 2] and rows.col_indices().tolist() == [0, 1]
    assert rows.values().tolist() == [[[1, 2, 0], [0, 3, 0]], [[0, 4, 0], [0, 5, 6]]] and rows._nnz() == 2
    columns = DENSE.to_sparse_bsc((2, 2))
    assert columns.layout is torch.sparse_bsc and columns.ccol_indices().tolist() == [0, 1, 1, 2]
    assert columns.row_indices().tolist() == [0, 1] and columns.values()[1].tolist() == [[4, 0], [5, 6]]
    with pytest.raises(RuntimeError, match="crow_indices"):
        columns.crow_indices()


def test_a_matrix_of_its_parts():
    made = torch.sparse_bsr_tensor([0, 1, 2], [0, 1], [[[1.0, 2], [3, 4]], [[5, 6], [7, 8]]])
    assert made.shape == (4, 4) and made.to_dense().tolist() == [[1, 2, 0, 0], [3, 4, 0, 0], [0, 0, 5, 6], [0, 0, 7, 8]]
    wide = torch.sparse_bsc_tensor([0, 1, 2], [0, 0], [[[1.0], [2]], [[3], [4]]])
    assert wide.to_dense().tolist() == [[1, 3], [2, 4]]
    same = torch.sparse_compressed_tensor([0, 1, 2], [0, 1], made.values(), layout=torch.sparse_bsr)
    assert same.to_dense().equal(made.to_dense())


@pytest.mark.parametrize("block", [(1, 1), (2, 3), (4, 6), (2, 2), (1, 6)])
@pytest.mark.parametrize("convert", ["to_sparse_bsr", "to_sparse_bsc"])
def test_conversions_there_and_back(convert, block):
    blocked = getattr(DENSE, convert)(block)
    assert blocked.to_dense().equal(DENSE) and blocked.to_sparse_coo().to_dense().equal(DENSE)
    for other in (blocked.to_sparse_csr(), blocked.to_sparse_csc(), DENSE.to_sparse(), DENSE.to_sparse_csr()):
        assert getattr(other, convert)(block).values().equal(blocked.values())
    assert blocked.t()._blocksize == block[::-1] and blocked.t().to_dense().equal(DENSE.t())
    assert getattr(blocked, convert)(block) is blocked


def test_what_a_matrix_of_blocks_computes():
    blocked, other = DENSE.to_sparse_bsr((2, 2)), torch.arange(12.0).reshape(6, 2)
    assert (blocked @ other).equal(DENSE @ other)
    for result, expected in ((blocked * 2, DENSE * 2), (blocked + blocked, DENSE + DENSE), (-blocked, -DENSE)):
        assert result.layout is torch.sparse_bsr and result.values().shape == blocked.values().shape
        assert result.to_dense().equal(expected)
    assert torch.sparse.addmm(torch.ones(4, 2), blocked, other).equal(1 + DENSE @ other)


def test_gradients_reach_the_dense_matrix_and_the_blocks():
    dense = DENSE.clone().requires_grad_()
    (dense.to_sparse_bsr((2, 3)) @ torch.ones(6, 2)).sum().backward()
    assert dense.grad.tolist() == ((DENSE != 0) * 2).tolist()
    leaf = DENSE.to_sparse_bsr((2, 3)).requires_grad_()
    (leaf @ torch.ones(6, 2)).sum().backward()
    assert leaf.grad.layout is torch.sparse_bsr and leaf.grad.values().tolist() == torch.full((2, 2, 3), 2.0).tolist()


def test_files_and_copies_keep_blocks():
    blocked = DENSE.to_sparse_bsr((2, 3))
    for ending in ("pt", "safetensors"):
        file = io.BytesIO()
        torch.save(blocked, file, format="pytorch" if ending == "pt" else "safetensors")
        file.seek(0)
        back = torch.load(file)
        assert back.layout is torch.sparse_bsr and back.values().equal(blocked.values())
    assert copy.deepcopy(blocked).to_dense().equal(DENSE)
    assert repr(blocked).endswith("size=(4, 6), nnz=2, layout=weft.sparse_bsr)") or "layout=weft.sparse_bsr" in repr(blocked)


@pytest.mark.parametrize(
    "call",
    [
        lambda: DENSE.to_sparse_bsr((3, 2)),
        lambda: DENSE.to_sparse_bsr((0, 2)),
        lambda: DENSE.to_sparse(layout=torch.sparse_bsr),
        lambda: DENSE.to_sparse(layout=torch.sparse_csr, blocksize=(2, 2)),
        lambda: torch.sparse_bsr_tensor([0, 1], [0], [1.0]),
        lambda: torch.sparse_bsr_tensor([0, 1], [0], [[[1.0, 2.0]]], (1, 3)),
        lambda: torch.sparse_bsr_tensor([0, 1], [1], [[[1.0, 2.0]]], (1, 2)),
        lambda: torch.zeros(2, 2, 2).to_sparse_bsr((1, 1)),
    ],
)
def test_what_is_no_matrix_of_blocks_is_an_error(call):
    with pytest.raises(RuntimeError):
        call()
