/** A provider of models: the variables that it requires, and its addresses. */
interface Provider {
  /** All of these groups; of each group any one variable. */
  readonly requires: readonly (readonly string[])[]
  /** The public address; absent when each tenant has an address of its own. */
  readonly url?: string
  /** The base of an OpenAI-compatible `chat/completions`; null: there is none. @default `url` */
  readonly chatUrl?: string | null
  /** The header in which its list of models takes the key. @default `authorization` */
  readonly listKey?: 'x-api-key'
  /** Variables that replace `url`: then the connection is specific to this tenant. */
  readonly overrides?: readonly string[]
  /** Servers of others speak as it does, many of them without keys. @default false */
  readonly isImitated?: boolean
}

const COMPATIBLE: Provider = {
  requires: [
    [
      'OPENAI_API_BASE',
      'OPENAI_BASE_URL',
      'LITELLM_PROXY_API_BASE',
      'VLLM_BASE_URL',
      'OLLAMA_HOST',
      'OLLAMA_API_BASE',
      'LM_STUDIO_API_BASE',
      'HOSTED_VLLM_API_BASE',
    ],
  ],
}

/** The requirements and addresses of the providers. A new provider is a line here. */
const PROVIDERS: Readonly<Record<string, Provider>> = {
  openai: {
    requires: [['OPENAI_API_KEY']],
    url: 'https://api.openai.com/v1',
    overrides: ['OPENAI_BASE_URL', 'OPENAI_API_BASE'],
    isImitated: true,
  },
  anthropic: {
    requires: [['ANTHROPIC_API_KEY']],
    url: 'https://api.anthropic.com',
    chatUrl: 'https://api.anthropic.com/v1',
    listKey: 'x-api-key',
    overrides: ['ANTHROPIC_BASE_URL'],
  },
  gemini: {
    requires: [['GEMINI_API_KEY', 'GOOGLE_API_KEY']],
    url: 'https://generativelanguage.googleapis.com',
    chatUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
    overrides: ['GOOGLE_GENAI_USE_VERTEXAI'],
  },
  vertex_ai: {
    requires: [
      [
        'VERTEXAI_PROJECT',
        'GOOGLE_CLOUD_PROJECT',
        'GOOGLE_API_KEY',
        'GOOGLE_APPLICATION_CREDENTIALS',
      ],
    ],
  },
  azure: {
    requires: [
      ['AZURE_API_KEY', 'AZURE_FEDERATED_TOKEN_FILE'],
      ['AZURE_API_BASE', 'AZURE_ENDPOINT', 'AZURE_OPENAI_ENDPOINT'],
    ],
  },
  bedrock: {
    requires: [
      [
        'AWS_ACCESS_KEY_ID',
        'AWS_BEARER_TOKEN_BEDROCK',
        'AWS_WEB_IDENTITY_TOKEN_FILE',
        'AWS_CONTAINER_CREDENTIALS_FULL_URI',
      ],
      [
        'AWS_SECRET_ACCESS_KEY',
        'AWS_BEARER_TOKEN_BEDROCK',
        'AWS_ROLE_ARN',
        'AWS_CONTAINER_CREDENTIALS_FULL_URI',
      ],
      ['AWS_DEFAULT_REGION', 'AWS_REGION_NAME', 'AWS_REGION'],
    ],
  },
  databricks: { requires: [['DATABRICKS_API_KEY'], ['DATABRICKS_API_BASE']] },
  snowflake: {
    requires: [
      ['SNOWFLAKE_PAT', 'SNOWFLAKE_TOKEN', 'SNOWFLAKE_JWT'],
      [
        'SNOWFLAKE_ACCOUNT_URL',
        'SNOWFLAKE_ACCOUNT',
        'SNOWFLAKE_ACCOUNT_ID',
        'SNOWFLAKE_ACCOUNT_IDENTIFIER',
        'SNOWFLAKE_API_BASE',
      ],
    ],
  },
  watsonx: {
    requires: [
      ['WATSONX_APIKEY', 'WATSONX_API_KEY', 'WATSONX_TOKEN', 'WATSONX_ZENAPIKEY'],
      ['WATSONX_URL'],
      ['WATSONX_PROJECT_ID', 'WATSONX_DEPLOYMENT_SPACE_ID'],
    ],
  },
  openai_compatible: COMPATIBLE,
  litellm_proxy: COMPATIBLE,
  hosted_vllm: COMPATIBLE,
  ollama: COMPATIBLE,
  lm_studio: COMPATIBLE,
  groq: keyed('https://api.groq.com/openai/v1', 'GROQ_API_KEY'),
  mistral: keyed('https://api.mistral.ai/v1', 'MISTRAL_API_KEY'),
  codestral: keyed('https://codestral.mistral.ai/v1', 'CODESTRAL_API_KEY'),
  cohere: {
    ...keyed('https://api.cohere.com', 'COHERE_API_KEY', 'CO_API_KEY'),
    chatUrl: 'https://api.cohere.ai/compatibility/v1',
  },
  deepseek: keyed('https://api.deepseek.com/v1', 'DEEPSEEK_API_KEY'),
  openrouter: keyed('https://openrouter.ai/api/v1', 'OPENROUTER_API_KEY'),
  xai: keyed('https://api.x.ai/v1', 'XAI_API_KEY'),
  perplexity: keyed('https://api.perplexity.ai', 'PERPLEXITY_API_KEY', 'PERPLEXITYAI_API_KEY'),
  together_ai: keyed(
    'https://api.together.xyz/v1',
    'TOGETHERAI_API_KEY',
    'TOGETHER_API_KEY',
    'TOGETHER_AI_API_KEY',
    'TOGETHER_AI_TOKEN',
  ),
  fireworks_ai: keyed(
    'https://api.fireworks.ai/inference/v1',
    'FIREWORKS_API_KEY',
    'FIREWORKS_AI_API_KEY',
  ),
  nvidia_nim: {
    ...keyed('https://integrate.api.nvidia.com/v1', 'NVIDIA_NIM_API_KEY', 'NVIDIA_API_KEY'),
    overrides: ['NVIDIA_NIM_API_BASE'],
  },
  cerebras: {
    ...keyed('https://api.cerebras.ai/v1', 'CEREBRAS_API_KEY'),
    overrides: ['CEREBRAS_BASE_URL'],
  },
  sambanova: keyed('https://api.sambanova.ai/v1', 'SAMBANOVA_API_KEY'),
  huggingface: {
    ...keyed('https://router.huggingface.co', 'HF_TOKEN', 'HUGGINGFACE_API_KEY'),
    chatUrl: 'https://router.huggingface.co/v1',
  },
  deepinfra: keyed('https://api.deepinfra.com/v1/openai', 'DEEPINFRA_API_KEY'),
  anyscale: keyed('https://api.endpoints.anyscale.com/v1', 'ANYSCALE_API_KEY'),
  ai21: keyed('https://api.ai21.com/studio/v1', 'AI21_API_KEY'),
  voyage: { ...keyed('https://api.voyageai.com/v1', 'VOYAGE_API_KEY'), chatUrl: null },
  jina_ai: { ...keyed('https://api.jina.ai/v1', 'JINA_AI_API_KEY'), chatUrl: null },
  meta_llama: keyed('https://api.llama.com/compat/v1', 'LLAMA_API_KEY'),
  dashscope: keyed('https://dashscope-intl.aliyuncs.com/compatible-mode/v1', 'DASHSCOPE_API_KEY'),
  nebius: keyed('https://api.studio.nebius.ai/v1', 'NEBIUS_API_KEY'),
  friendliai: keyed(
    'https://api.friendli.ai/serverless/v1',
    'FRIENDLI_TOKEN',
    'FRIENDLIAI_API_KEY',
  ),
  replicate: { ...keyed('https://api.replicate.com/v1', 'REPLICATE_API_KEY'), chatUrl: null },
  github: keyed('https://models.inference.ai.azure.com', 'GITHUB_API_KEY'),
}

const ALIASES: Readonly<Record<string, string>> = {
  claude: 'anthropic',
  google: 'gemini',
  azure_openai: 'azure',
  azure_ai: 'azure',
  aws: 'bedrock',
  sagemaker: 'bedrock',
  watson: 'watsonx',
  litellm: 'litellm_proxy',
  vllm: 'hosted_vllm',
  lmstudio: 'lm_studio',
  llama_cpp: 'openai_compatible',
  llamafile: 'openai_compatible',
  localai: 'openai_compatible',
  openai_like: 'openai_compatible',
  sglang: 'openai_compatible',
}

function keyed(url: string, ...anyOf: readonly string[]): Provider {
  return { requires: [anyOf], url }
}

/** Every variable that a known provider reads. */
export const PROVIDER_VARIABLES: ReadonlySet<string> = new Set(
  Object.values(PROVIDERS).flatMap(({ requires, overrides = [] }) => [
    ...requires.flat(),
    ...overrides,
  ]),
)

/** Returns a provider; an unknown one requires `<PROVIDER>_API_KEY` (SPEC 2.3). */
export function providerOf(provider: string): Provider & { readonly name: string } {
  const plain = provider.toLowerCase().replaceAll('-', '_')
  const name = (Object.hasOwn(ALIASES, plain) && ALIASES[plain]) || plain
  const known = Object.hasOwn(PROVIDERS, name) ? PROVIDERS[name] : undefined
  return { name, ...(known ?? { requires: [[keyVariable(plain)]] }) }
}

const keyVariable = (provider: string): string =>
  `${provider.toUpperCase().replace(/[^A-Z0-9]+/g, '_')}_API_KEY`

/** The names of the known providers. */
export const PROVIDER_NAMES: readonly string[] = Object.keys(PROVIDERS).toSorted()

/** Lists the missing variables, each once. */
export const describeRequirements = (missing: readonly (readonly string[])[]): string =>
  [...new Set(missing.flat())].join(', ')
