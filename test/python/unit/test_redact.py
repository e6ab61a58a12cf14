"""Keys and tokens stay out of what is reported and logged."""

import json
import unittest

from crew_runtime.redact import redactor, secrets_of


class Redact(unittest.TestCase):
    def test_replaces_each_key_also_where_it_is_json(self):
        kickoff = {
            "models": {"a": {"base_url": "http://a", "api_key": 'sk-"quoted"-1'}},
            "connections": {"b": {"access_token": "token-of-b"}},
        }
        redact = redactor(secrets_of(kickoff))
        said = json.dumps({"text": 'It is sk-"quoted"-1, with token-of-b'})
        self.assertEqual(redact(said), '{"text": "It is [redacted], with [redacted]"}')

    def test_leaves_short_texts_alone(self):
        self.assertEqual(secrets_of({"models": {"a": {"api_key": "none"}, "b": {}}}), [])
