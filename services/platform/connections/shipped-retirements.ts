const OPENAI = {
  source: 'https://developers.openai.com/api/docs/deprecations',
  read_on: '2026-11-27',
}
// A list that copies the vendor's page, where that page itself could not be read.
const OPENAI_2027 = {
  source: 'https://dev.to/max_bob/openai-api-deprecations-2026-2027-every-shutdown-date',
  copies: OPENAI.source,
  read_on: '2026-11-27',
}
const ANTHROPIC = {
  source: 'https://platform.claude.com/docs/en/release-notes/overview',
  read_on: '2026-11-27',
}
const OPUS_4_1 = {
  source: 'https://www.totalum.app/blog/claude-4-deprecation-migration-2026',
  copies: 'https://platform.claude.com/docs/en/about-claude/model-deprecations',
  read_on: '2026-11-27',
}
const GOOGLE = {
  source: 'https://dev.to/aideprecations/what-to-do-before-gemini-25-pro-and-25-flash-are-retired',
  copies: 'https://ai.google.dev/gemini-api/docs/deprecations',
  read_on: '2026-11-27',
}

/**
 * The days on which providers turn models off, and what they recommend in their place; a model
 * without a successor here has none that is known. Clouds that resell them have days of their own.
 */
export const SHIPPED_RETIREMENTS = {
  retirements: [
    {
      models: ['gpt-5', 'gpt-5-2025-08-07'],
      on: '2026-12-11',
      successor: 'gpt-6.1-sol',
      ...OPENAI,
    },
    {
      models: ['gpt-5-mini', 'gpt-5-mini-2025-08-07'],
      on: '2026-12-11',
      successor: 'gpt-6.1-terra',
      ...OPENAI,
    },
    {
      models: ['gpt-5-nano', 'gpt-5-nano-2025-08-07', 'gpt-5-pro', 'o3', 'o3-pro'],
      on: '2026-12-11',
      ...OPENAI_2027,
    },
    {
      models: ['gpt-4o', 'gpt-4o-2024-08-06', 'gpt-4o-2024-11-20'],
      on: '2027-01-14',
      successor: 'gpt-6-luna',
      ...OPENAI_2027,
    },
    {
      models: ['gpt-4o-mini', 'gpt-4o-mini-2024-07-18'],
      on: '2027-01-14',
      successor: 'gpt-6-luna',
      ...OPENAI_2027,
    },
    {
      models: ['gpt-4.1', 'gpt-4.1-2025-04-14', 'gpt-4.1-mini', 'gpt-4.1-mini-2025-04-14'],
      on: '2027-01-14',
      successor: 'gpt-6-luna',
      ...OPENAI_2027,
    },
    { models: ['gpt-5.1', 'gpt-5.1-2025-11-13'], on: '2027-04-01', ...OPENAI_2027 },
    {
      models: ['gpt-3.5-turbo', 'gpt-3.5-turbo-0125'],
      on: '2026-10-23',
      successor: 'gpt-4.1-mini',
      ...OPENAI,
    },
    { models: ['gpt-4', 'gpt-4-0613'], on: '2026-10-23', ...OPENAI },
    {
      models: ['claude-opus-4-0', 'claude-opus-4-20250514'],
      on: '2026-06-15',
      successor: 'claude-opus-4-8',
      ...ANTHROPIC,
    },
    {
      models: ['claude-sonnet-4-0', 'claude-sonnet-4-20250514'],
      on: '2026-06-15',
      successor: 'claude-sonnet-4-6',
      ...ANTHROPIC,
    },
    { models: ['claude-opus-4-1', 'claude-opus-4-1-20250805'], on: '2026-08-05', ...OPUS_4_1 },
    { models: ['gemini-2.5-pro'], on: '2026-12-01', successor: 'gemini-3.8-flash', ...GOOGLE },
    {
      models: ['gemini-2.5-flash'],
      on: '2026-12-01',
      successor: 'gemini-3.5-flash-lite',
      ...GOOGLE,
    },
  ],
}
