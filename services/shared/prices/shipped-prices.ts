const ANTHROPIC = {
  source: 'https://platform.claude.com/docs/en/about-claude/pricing',
  read_on: '2026-11-22',
}
const READ_ON = '2026-11-22'
const OPENAI = 'https://developers.openai.com/api/docs/models'
// Lists of others that copy the vendor's page, where that page itself could not be read.
const GOOGLE = {
  source: 'https://github.com/api-evangelist/deepmind/blob/main/plans/deepmind-plans-pricing.yml',
  copies: 'https://ai.google.dev/gemini-api/docs/pricing',
  read_on: '2026-10-07',
}
const GPT_5 = {
  source: 'https://github.com/api-evangelist/openai/blob/main/plans/openai-plans-pricing.yml',
  copies: 'https://developers.openai.com/api/docs/pricing',
  read_on: READ_ON,
}
const GPT_4 = {
  source: 'https://hex.pm/packages/openai_responses/0.4.1/files/lib/responses/pricing.ex',
  copies: 'https://platform.openai.com/docs/pricing',
  read_on: READ_ON,
}
const FLEX = {
  source: 'https://pypi.org/project/genai-prices/0.2.3/',
  copies: 'https://developers.openai.com/api/docs/pricing',
  read_on: '2026-11-28',
}
const O4 = {
  source: 'https://www.helicone.ai/model/o4-mini',
  copies: 'https://platform.openai.com/docs/pricing',
  read_on: READ_ON,
}

/**
 * List prices of common models, in US dollars for a million tokens, without discounts for batches
 * and without surcharges for long prompts. A name such as `gpt-5.4@flex` is the model's by a
 * service tier. What was written to a cache is priced as for the five minutes that are the
 * default. A price holds for all time where no earlier or later one is known. `copies` names the
 * vendor's page where the source is a copy of it rather than the vendor's own.
 */
export const SHIPPED_PRICES = {
  prices: [
    {
      models: ['claude-opus-5', 'claude-opus-4-8', 'claude-opus-4-7', 'claude-opus-4-6'],
      per_million: { input: 5, cached: 0.5, cache_write: 6.25, output: 25 },
      ...ANTHROPIC,
    },
    {
      models: ['claude-opus-4-5', 'claude-opus-4-5-20251101'],
      per_million: { input: 5, cached: 0.5, cache_write: 6.25, output: 25 },
      ...ANTHROPIC,
    },
    {
      models: ['claude-opus-4-1', 'claude-opus-4-1-20250805'],
      per_million: { input: 15, cached: 1.5, cache_write: 18.75, output: 75 },
      ...ANTHROPIC,
    },
    {
      models: ['claude-opus-4-0', 'claude-opus-4-20250514', 'claude-3-opus-20240229'],
      per_million: { input: 15, cached: 1.5, cache_write: 18.75, output: 75 },
      ...ANTHROPIC,
    },
    {
      models: ['claude-sonnet-5'],
      per_million: { input: 2, cached: 0.2, cache_write: 2.5, output: 10 },
      source: 'https://platform.claude.com/docs/en/models/sonnet-5/overview',
      read_on: '2026-11-22',
    },
    {
      models: ['claude-sonnet-4-6', 'claude-sonnet-4-5', 'claude-sonnet-4-5-20250929'],
      per_million: { input: 3, cached: 0.3, cache_write: 3.75, output: 15 },
      ...ANTHROPIC,
    },
    {
      models: ['claude-sonnet-4-0', 'claude-sonnet-4-20250514', 'claude-3-7-sonnet-20250219'],
      per_million: { input: 3, cached: 0.3, cache_write: 3.75, output: 15 },
      ...ANTHROPIC,
    },
    {
      models: ['claude-3-5-sonnet-20241022', 'claude-3-5-sonnet-20240620'],
      per_million: { input: 3, cached: 0.3, cache_write: 3.75, output: 15 },
      source: 'https://docs.anthropic.com/en/docs/about-claude/pricing',
      read_on: '2026-11-22',
    },
    {
      models: ['claude-haiku-4-5', 'claude-haiku-4-5-20251001'],
      per_million: { input: 1, cached: 0.1, cache_write: 1.25, output: 5 },
      ...ANTHROPIC,
    },
    {
      models: ['claude-3-5-haiku-20241022'],
      per_million: { input: 0.8, cached: 0.08, cache_write: 1, output: 4 },
      ...ANTHROPIC,
    },
    {
      models: ['claude-3-haiku-20240307'],
      per_million: { input: 0.25, cached: 0.03, cache_write: 0.3, output: 1.25 },
      ...ANTHROPIC,
    },
    {
      models: ['gemini-3.8-flash'],
      until: '2027-01-01',
      per_million: { input: 0.75, output: 3.75 },
      ...GOOGLE,
    },
    {
      models: ['gemini-3.8-flash'],
      from: '2027-01-01',
      per_million: { input: 1.5, output: 7.5 },
      ...GOOGLE,
    },
    { models: ['gemini-3.5-flash'], per_million: { input: 1.5, output: 9 }, ...GOOGLE },
    { models: ['gemini-3.5-flash-lite'], per_million: { input: 0.3, output: 2.5 }, ...GOOGLE },
    {
      models: ['gpt-5.5'],
      per_million: { input: 5, cached: 0.5, output: 30 },
      ...GPT_5,
    },
    {
      models: ['gpt-5.4'],
      per_million: { input: 2.5, cached: 0.25, output: 15 },
      ...GPT_5,
    },
    {
      models: ['gpt-5.4-mini'],
      per_million: { input: 0.75, cached: 0.075, output: 4.5 },
      ...GPT_5,
    },
    {
      models: ['gpt-5.4-nano'],
      per_million: { input: 0.2, cached: 0.02, output: 1.25 },
      ...GPT_5,
    },
    {
      models: ['gpt-5.5@flex'],
      per_million: { input: 2.5, cached: 0.25, output: 15 },
      ...FLEX,
    },
    {
      models: ['gpt-5.4@flex'],
      per_million: { input: 1.25, cached: 0.13, output: 7.5 },
      ...FLEX,
    },
    {
      models: ['gpt-5.4-mini@flex'],
      per_million: { input: 0.375, cached: 0.0375, output: 2.25 },
      ...FLEX,
    },
    {
      models: ['gpt-5.4-nano@flex'],
      per_million: { input: 0.1, cached: 0.01, output: 0.625 },
      ...FLEX,
    },
    {
      models: ['o4-mini@flex', 'o4-mini-2025-04-16@flex'],
      per_million: { input: 0.55, cached: 0.138, output: 2.2 },
      ...FLEX,
    },
    {
      models: ['gpt-5-nano@flex', 'gpt-5-nano-2025-08-07@flex'],
      per_million: { input: 0.025, cached: 0.0025, output: 0.2 },
      ...FLEX,
    },
    {
      models: ['gpt-4.1', 'gpt-4.1-2025-04-14'],
      per_million: { input: 2, cached: 0.5, output: 8 },
      ...GPT_4,
    },
    {
      models: ['gpt-4.1-mini', 'gpt-4.1-mini-2025-04-14'],
      per_million: { input: 0.4, cached: 0.1, output: 1.6 },
      ...GPT_4,
    },
    {
      models: ['gpt-4.1-nano', 'gpt-4.1-nano-2025-04-14'],
      per_million: { input: 0.1, cached: 0.025, output: 0.4 },
      ...GPT_4,
    },
    {
      models: ['gpt-4o', 'gpt-4o-2024-08-06', 'gpt-4o-2024-11-20'],
      per_million: { input: 2.5, cached: 1.25, output: 10 },
      ...GPT_4,
    },
    {
      models: ['gpt-4o-mini', 'gpt-4o-mini-2024-07-18'],
      per_million: { input: 0.15, cached: 0.075, output: 0.6 },
      ...GPT_4,
    },
    {
      models: ['o4-mini', 'o4-mini-2025-04-16'],
      per_million: { input: 1.1, cached: 0.275, output: 4.4 },
      ...O4,
    },
    {
      models: ['gpt-5-nano', 'gpt-5-nano-2025-08-07'],
      per_million: { input: 0.05, cached: 0.005, output: 0.4 },
      source: `${OPENAI}/gpt-5-nano`,
      read_on: READ_ON,
    },
    {
      models: ['gpt-4', 'gpt-4-0613'],
      per_million: { input: 30, output: 60 },
      source: `${OPENAI}/gpt-4`,
      read_on: READ_ON,
    },
    {
      models: ['gpt-3.5-turbo', 'gpt-3.5-turbo-0125'],
      per_million: { input: 0.5, output: 1.5 },
      source: `${OPENAI}/gpt-3.5-turbo`,
      read_on: READ_ON,
    },
    {
      models: ['text-embedding-3-small'],
      per_million: { input: 0.02 },
      source: `${OPENAI}/text-embedding-3-large`,
      read_on: READ_ON,
    },
    {
      models: ['text-embedding-3-large'],
      per_million: { input: 0.13 },
      source: `${OPENAI}/text-embedding-3-large`,
      read_on: READ_ON,
    },
  ],
}
