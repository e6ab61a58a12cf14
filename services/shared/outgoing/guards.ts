import type { ForwardProxy } from './forward-proxy.ts'
import { createOutgoingGuard } from './guard.ts'
import type { OutgoingGuard } from './guard.ts'

type CreateGuard = (privateOrigins: readonly string[], proxy?: ForwardProxy) => OutgoingGuard

const guardOf =
  (setting: string): CreateGuard =>
  (privateOrigins, proxy) =>
    createOutgoingGuard({ privateOrigins, proxy, setting })

/** Stands before every call to the address of an LLM connection. */
export const createLlmGuard = guardOf('LLM_PRIVATE_ORIGINS (chart: outgoing.llmPrivateOrigins)')

/** Stands before every call to the address of a tool. */
export const createToolGuard = guardOf('TOOL_PRIVATE_ORIGINS (chart: outgoing.toolPrivateOrigins)')

/** Stands before every call to the address of a webhook. */
export const createWebhookGuard = guardOf(
  'WEBHOOK_PRIVATE_ORIGINS (chart: outgoing.webhookPrivateOrigins)',
)

/** Stands before every call to an authorization server of the automation API. */
export const createAutomationOauthGuard = guardOf(
  'AUTOMATION_OAUTH_PRIVATE_ORIGINS (chart: outgoing.oauthPrivateOrigins)',
)

/** Stands before every call to a Git repository. */
export const createGitGuard = guardOf('GIT_PRIVATE_ORIGINS (chart: outgoing.gitPrivateOrigins)')
