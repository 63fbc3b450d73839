"""Maximum flow and minimum cut of a directed graph (Dinic 1970)."""

from __future__ import annotations

INFINITE = 1 << 60


class FlowNetwork:
    """Vertices 0 .. n-1; edges with integer capacities, kept in pairs (edge e, its reverse e ^ 1)."""

    def __init__(self, n: int):
        self.n = n
        self.to: list[int] = []
        self.capacity: list[int] = []
        self.edges: list[list[int]] = [[] for _ in range(n)]

    def add(self, a: int, b: int, capacity: int) -> None:
        """An edge from a to b."""
        self.edges[a].append(len(self.to))
        self.to.append(b)
        self.capacity.append(capacity)
        self.edges[b].append(len(self.to))
        self.to.append(a)
        self.capacity.append(0)

    def _levels(self, source: int, sink: int) -> list[int] | None:
        level = [-1] * self.n
        level[source] = 0
        frontier = [source]
        to, capacity, edges = self.to, self.capacity, self.edges
        while frontier and level[sink] < 0:
            following = []
            for a in frontier:
                for e in edges[a]:
                    b = to[e]
                    if capacity[e] and level[b] < 0:
                        level[b] = level[a] + 1
                        following.append(b)
            frontier = following
        return level if level[sink] >= 0 else None

    def _blocking_flow(self, source: int, sink: int, level: list[int]) -> int:
        to, capacity, edges = self.to, self.capacity, self.edges
        at = [0] * self.n  # the next edge of each vertex worth trying
        total = 0
        path: list[int] = []
        a = source
        while True:
            if a == sink:
                flow = min(capacity[e] for e in path)
                total += flow
                for e in path:
                    capacity[e] -= flow
                    capacity[e ^ 1] += flow
                for i, e in enumerate(path):  # go on from the first edge that is full
                    if not capacity[e]:
                        a = to[e ^ 1]
                        del path[i:]
                        break
                continue
            options = edges[a]
            while at[a] < len(options):
                e = options[at[a]]
                if capacity[e] and level[to[e]] == level[a] + 1:
                    break
                at[a] += 1
            if at[a] < len(options):
                path.append(options[at[a]])
                a = to[path[-1]]
            elif path:
                e = path.pop()
                a = to[e ^ 1]
                at[a] += 1
            else:
                return total

    def max_flow(self, source: int, sink: int) -> int:
        """Push as much as possible; the capacities left are the residual network."""
        total = 0
        while True:
            level = self._levels(source, sink)
            if level is None:
                return total
            total += self._blocking_flow(source, sink, level)

    def source_side(self, source: int) -> list[bool]:
        """After max_flow: which vertices are on the source's side of the minimum cut nearest to it."""
        reached = [False] * self.n
        reached[source] = True
        stack = [source]
        while stack:
            a = stack.pop()
            for e in self.edges[a]:
                if self.capacity[e] and not reached[self.to[e]]:
                    reached[self.to[e]] = True
                    stack.append(self.to[e])
        return reached
