"""Controls that pass no messages between agents: what an agent's own past alone is worth."""
