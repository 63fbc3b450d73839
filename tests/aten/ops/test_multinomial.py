"""Draws without replacement of more categories than have a probability, as PyTorch 2.13 makes them."""

import weft


def test_categories_without_probability_come_last():
    assert weft.multinomial(weft.tensor([1.0, 0, 0]), 2).tolist() == [0, 1]
    drawn = weft.multinomial(weft.tensor([[0, 0, 3.0, 0], [1, 1, 0, 0]]), 4).tolist()
    assert drawn[0][0] == 2 and {*drawn[1][:2]} == {0, 1} and [sorted(row) for row in drawn] == [[0, 1, 2, 3]] * 2
