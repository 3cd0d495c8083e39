"""Secrets are found by their format or the words around them, and masked or removed."""

from __future__ import annotations

import pytest

from memgraph.text.secrets import find_secrets, mask, redact

KINDS = {
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----": "a private key",
    "sk-proj-abcdefghijklmnopqrstuvwxyz123456": "an API key of OpenAI or Anthropic",
    "AKIAIOSFODNN7EXAMPLE": "an AWS access key",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789": "a GitHub token",
    "glpat-abcdefghij0123456789": "a GitLab token",
    "xoxb-123456789012-abcdefghijkl": "a Slack token",
    "AIza" + "SyA" * 11 + "xy": "a Google API key",
    "sk_live_abcdefghijklmnop": "a Stripe key",
    "hf_abcdefghijklmnopqrstuvwxyz0123456789": "a Hugging Face token",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N": "a JSON Web Token",
    "4111 1111 1111 1111": "a card number",
}


@pytest.mark.parametrize(("secret", "kind"), KINDS.items(), ids=KINDS.values())
def test_each_kind_is_found_at_its_position(secret: str, kind: str) -> None:
    text = f"Deploys with {secret} every day."

    assert [(found.kind, text[found.start : found.end]) for found in find_secrets(text)] == [(kind, secret)]


@pytest.mark.parametrize(
    ("text", "masked", "redacted"),
    [
        ("Uses AKIAIOSFODNN7EXAMPLE.", "Uses AKIA***.", "Uses [removed]."),
        ("My password is hunter2", "My password is ***", "My password is [removed]"),
        ("postgresql://ada:swordfish@db/x", "postgresql://ada:***@db/x", "postgresql://[removed]@db/x"),
        ("银行卡密码是838291", "银行卡密码是***", "银行卡密码是[removed]"),
        ("Likes tea.", "Likes tea.", "Likes tea."),
    ],
)
def test_secrets_are_masked_or_removed_and_the_rest_stays(text: str, masked: str, redacted: str) -> None:
    assert (mask(text), redact(text)) == (masked, redacted)


def test_a_card_number_needs_a_valid_check_digit() -> None:
    assert mask("4111 1111 1111 1111, 4111 1111 1111 1112") == "4111***, 4111 1111 1111 1112"


def test_overlapping_secrets_are_replaced_once() -> None:
    """The API key is part of what follows `password is`."""
    assert redact("The password is sk-proj-abcdefghijklmnop!x, really.") == "The password is [removed] really."
