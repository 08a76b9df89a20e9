"""SphereNet (Liu et al., ICLR 2022): bases of functions, geometry of triplets, and the network."""
