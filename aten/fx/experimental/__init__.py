"""Where PyTorch keeps make_fx and the symbols of sizes."""
