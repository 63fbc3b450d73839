"""What is done with one model, the same under weft and under PyTorch: phases that each give a dictionary of arrays."""

import time
import traceback

import numpy as np

STEPS, RATE, MOMENTUM = 3, 0.01, 0.9


def flat(value):
    """The tensors of nested tuples, lists and dictionaries, in order; None is left out."""
    if value is None:
        return []
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in flat(part)]
    return [value]


def array(tensor):
    return np.array(tensor.detach().cpu().contiguous().numpy())


class Run:
    """One model under `torch`, which is weft or PyTorch. `arrays` and `facts` are what it has to say."""

    def __init__(self, torch, program, given=None, fullgraph=True):
        self.torch, self.fullgraph = torch, fullgraph
        torch.manual_seed(0)
        self.model, self.inputs, self.loss = program.build()
        self.sizes = program.sizes()
        self.arrays, self.facts, self.failures = {}, {}, {}
        self.start = self.exchange(given)

    def state(self):
        return {**dict(self.model.named_parameters()), **dict(self.model.named_buffers())}

    def exchange(self, given):
        """Take initial values and inputs from `given`; where nothing is given, keep one's own, for the other side to take."""
        named = {f"state/{name}": tensor for name, tensor in self.state().items()}
        for i, batch in enumerate([self.inputs, *self.sizes]):
            named |= {f"input/{i}/{j}": tensor for j, tensor in enumerate(batch)}
        if given is not None:
            missing = set(named) ^ set(given)
            if missing:
                raise ValueError(f"the two sides do not have the same parameters and inputs: {sorted(missing)}")
            with self.torch.no_grad():
                for name, tensor in named.items():
                    tensor.copy_(self.torch.from_numpy(given[name]))
        return {name: array(tensor) for name, tensor in named.items()}

    def reset(self):
        self.model.zero_grad(set_to_none=True)
        with self.torch.no_grad():
            for name, tensor in self.state().items():
                tensor.copy_(self.torch.from_numpy(self.start[f"state/{name}"]))

    def phase(self, name, fn):
        """Run one phase from the initial parameters; what fails is written down and the others go on."""
        try:
            self.reset()
            self.arrays |= {f"{name}/{key}": np.asarray(value) for key, value in fn().items()}
        except Exception as error:
            self.failures[name] = f"{type(error).__name__}: {error}"
            self.facts.setdefault("tracebacks", {})[name] = traceback.format_exc()

    def compiled(self, fn, **options):
        self.torch._dynamo.reset()
        return self.torch.compile(fn, fullgraph=self.fullgraph, **options)

    def outputs(self, model, inputs):
        return {f"output/{i}": array(out) for i, out in enumerate(flat(model(*inputs)))}

    def whole(self, *inputs):
        return self.loss(self.model(*inputs), *inputs)

    def gradients(self, loss):
        value = loss(*self.inputs)
        value.backward()
        named = self.model.named_parameters()
        return {"loss": array(value)} | {f"grad/{name}": array(p.grad) for name, p in named if p.grad is not None}

    def training(self, loss):
        optimizer = self.torch.optim.SGD(self.model.parameters(), lr=RATE, momentum=MOMENTUM)
        losses = []
        for _ in range(STEPS):
            optimizer.zero_grad()
            value = loss(*self.inputs)
            value.backward()
            optimizer.step()
            losses.append(array(value))
        return {"losses": np.array(losses)} | {f"state/{name}": array(tensor) for name, tensor in self.state().items()}

    def every_size(self, model):
        found = {}
        for i, inputs in enumerate([self.inputs, *self.sizes]):
            found |= {f"{i}/{name}": value for name, value in self.outputs(model, inputs).items()}
        return found

    def eager(self):
        self.phase("outputs", lambda: self.outputs(self.model, self.inputs))
        self.phase("gradients", lambda: self.gradients(self.whole))
        self.phase("training", lambda: self.training(self.whole))
        self.phase("sizes", lambda: self.every_size(self.model))

    def compile(self):
        self.phase("compiled outputs", lambda: self.outputs(self.compiled(self.model), self.inputs))
        self.phase("compiled gradients", lambda: self.gradients(self.compiled(self.whole)))
        self.phase("compiled training", lambda: self.training(self.compiled(self.whole)))
        self.phase("compiled sizes", lambda: self.every_size(self.compiled(self.model)))

    def count(self):
        """How many graphs four sizes take, whole and with breaks allowed (a break makes more than one graph of one call)."""
        for fact, options in (("compilations", {"fullgraph": self.fullgraph}), ("graphs", {"fullgraph": False})):
            graphs = []

            def keep(module, inputs, graphs=graphs):
                graphs.append(module)
                return module.forward

            def calls(options=options, graphs=graphs, keep=keep, fact=fact):
                self.torch._dynamo.reset()
                model = self.torch.compile(self.model, backend=keep, **options)
                for inputs in [self.inputs] if fact == "graphs" else [self.inputs, *self.sizes]:
                    model(*inputs)
                self.facts[fact] = len(graphs)
                return {}

            self.phase(fact, calls)

    def best(self, loss, seconds=1.0):
        """Milliseconds of one forward and backward: the best of what fits in `seconds`, which a busy machine disturbs least."""
        def step():
            self.model.zero_grad(set_to_none=True)
            loss(*self.inputs).backward()

        step(), step()
        end, best = time.perf_counter() + seconds, float("inf")
        while time.perf_counter() < end:
            began = time.perf_counter()
            step()
            best = min(best, time.perf_counter() - began)
        return best * 1e3

    def time(self):
        def measure(fact, loss):
            self.phase(fact, lambda: self.facts.update({fact: self.best(loss())}) or {})

        measure("eager ms", lambda: self.whole)
        measure("compiled ms", lambda: self.compiled(self.whole))
