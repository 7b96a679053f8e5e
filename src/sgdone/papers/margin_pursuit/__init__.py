"""Holland (2018): classification using margin pursuit."""
