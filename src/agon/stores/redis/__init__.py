"""The bus and the boards on Redis or Valkey. Everything here can be lost; the ledger brings it back."""
