import { group, integer, string } from '../template/schema.ts'

const origins = (doc: string) =>
  string('', doc, {
    pattern: /^(https?:\/\/[a-z0-9.-]+(:[0-9]{1,5})?(,https?:\/\/[a-z0-9.-]+(:[0-9]{1,5})?)*)?$/,
    expected: 'origins such as "http://litellm.models:4000", with commas between, or ""',
  })

/** The private addresses that organizations may have the platform call. */
export const outgoing = group(
  'Private addresses that organizations may name. All others are refused: in-cluster ' +
    'services, private networks, the metadata of a cloud.',
  {
    llmPrivateOrigins: origins(
      'Models that LLM connections may name, as scheme, host and port with commas between, ' +
        'such as `http://litellm.models:4000,https://vllm.corp`. Those in `OPENAI_BASE_URL`, ' +
        '`OLLAMA_HOST` and the like of `extraEnvVars` need not be listed.',
    ),
    webhookPrivateOrigins: origins(
      'Receivers that webhooks of automations may name, such as `https://crm.corp`; one with ' +
        '`http://` is called without TLS.',
    ),
    toolPrivateOrigins: origins(
      'MCP servers, APIs and pages that the tools of crews may name, such as ' +
        '`http://search.tools:8080`.',
    ),
    connectionPrivateOrigins: origins(
      'Providers that connections may name, such as `https://keycloak.corp:8443`; one with ' +
        '`http://` is called without TLS.',
    ),
    gitPrivateOrigins: origins(
      'Git servers that automations may be pulled from, such as `https://gitlab.corp`; one with ' +
        '`http://` is read without TLS.',
    ),
    indexPrivateOrigins: origins(
      'Where the public index of `tools.upstream` keeps its files, such as ' +
        '`https://files.example.com` where a mirror has them; the origin of ' +
        'the index itself need not be listed.',
    ),
    oauthPrivateOrigins: origins(
      'Identity providers that "OAuth 2.0 for Automations" may name, such as ' +
        '`https://keycloak.corp:8443`; one with `http://` is read without TLS.',
    ),
    oauthStaleHours: integer(
      24,
      'Hours for which the last keys of an identity provider serve while it is unavailable; ' +
        '0 means not at all.',
      { min: 0, max: 24 },
    ),
  },
)
