"""Model files of Hugging Face's transformers, pure Python over `import torch`, on weft: `python -m benchmarks.hugging_face`."""
