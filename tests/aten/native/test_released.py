"""Calls of several threads that change layouts of tensors while others are on their way."""

import threading

import weft


def test_calls_that_change_layouts_on_their_way_do_not_wait_for_each_other():
    meet = threading.Barrier(2)

    @weft.library.custom_op("tests_away::rebind", mutates_args=())
    def rebind(x: weft.Tensor) -> weft.Tensor:
        meet.wait(30)
        box = weft.zeros(300, 300)
        box.data = weft.ones(3)
        return x * box[0]

    rebind.register_fake(weft.empty_like)
    f = weft.compile(lambda x: rebind(x @ x).cos(), fullgraph=True)
    x, found = weft.eye(512) * 2, []
    threads = [threading.Thread(target=lambda: found.append(f(x)), daemon=True) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert len(found) == 2
    for y in found:
        weft.testing.assert_close(y, (x * 2).cos())
