import * as v from 'valibot'
import { httpUrl, integer, logLevel, optional, origins, text } from '../shared/env.ts'
import { proxyEnv } from '../shared/outgoing/forward-proxy.ts'

/** The variables of a crew. */
export const crewEnv = v.object({
  PORT: v.optional(integer(0, 65_535), '8000'),
  HOST: v.optional(text(), '0.0.0.0'),
  ...proxyEnv,
  LOG_LEVEL: logLevel,
  /**
   * The project version that this crew runs: as JSON, or the path of a file that holds it; exactly
   * one of the two.
   */
  CREW_DEFINITION: optional(text()),
  CREW_DEFINITION_FILE: optional(text()),
  /** Shared with the workers: they alone may start runs. */
  CREW_TOKEN: text(32),
  /** An OpenAI-compatible endpoint, with its version path: `https://host/v1`. */
  OPENAI_BASE_URL: v.optional(httpUrl(), 'https://api.openai.com/v1'),
  OPENAI_API_KEY: optional(text()),
  /** Origins on private networks to which the LLM connection of a run may lead, by commas. */
  LLM_PRIVATE_ORIGINS: v.optional(origins(), ''),
  /** Origins on private networks to which the tools of a run may lead, by commas. */
  TOOL_PRIVATE_ORIGINS: v.optional(origins(), ''),
  /** The longest that one answer of the model may take. */
  LLM_TIMEOUT_SECONDS: v.optional(integer(1, 3600), '120'),
  /**
   * The time for the calls in flight when the crew stops; after them, the workers hand its runs to
   * another pod. A call of the model may take `LLM_TIMEOUT_SECONDS`.
   */
  CREW_DRAIN_SECONDS: v.optional(integer(0, 86_400), '150'),
})
