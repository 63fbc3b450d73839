"""What `weft._dynamo` has beside the package dynamo: names that need modules, backends and export."""

from dynamo import above
from dynamo.backends import registry

above.give("dynamo", "weft.optimize", "optimize", "optimize_assert", "run")
above.give("dynamo", "weft.compiler", "disable", "is_compiling")
above.give("dynamo", "weft.explanation", "explain")
above.give("dynamo", "weft.export.capture", "export")
above.give("dynamo", "weft.compiled_module", "OptimizedModule")
above.give("dynamo", "weft.regions", "error_on_graph_break")
above.give("dynamo.decorators", "weft.regions", "error_on_graph_break")
above.give("dynamo.eval_frame", "weft.compiled_module", "OptimizedModule")
above.give("dynamo.eval_frame", "weft.export.capture", "export")
above.give("dynamo.decorators", "weft.compiler", "disable")
above.give("dynamo.decorators", "weft.optimize", "run")
registry.provided["inductor"] = "weft.compilation"
