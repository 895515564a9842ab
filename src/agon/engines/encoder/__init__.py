"""The encoder behind the reward model: its weights, its ONNX graph, and the folder both lie in."""
