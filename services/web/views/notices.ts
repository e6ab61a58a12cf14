const NOTICES = {
  'token-revoked': 'The token is revoked. Calls with it are refused from now on.',
  'oauth-saved': 'The settings are saved. They hold for the next call.',
  'limit-saved': 'The limit is saved. It holds for the next run.',
  'client-bound': 'The OAuth Client ID is saved. It holds for the next call.',
  'client-unbound':
    'The automation has no OAuth client any more. Its tokens are refused from now on.',
  'password-changed': 'Your password is changed, and your other sessions are over.',
  stopped: 'The execution is stopped.',
  'flag-saved': 'The flag is saved. It holds from now on.',
  'llm-connection-created': 'The connection is created. Test it here.',
  'llm-connection-saved': 'The connection is saved.',
  'llm-key-forgotten':
    'The connection is saved. Its key was forgotten, because it would have gone to another address: enter it again.',
  'llm-connection-deleted': 'The connection is deleted.',
  'over-already': 'The execution was over already.',
} as const

const WARNINGS = {
  'platform-health-unavailable':
    'The health report exists on Kubernetes only, with PLATFORM_SELF_HOSTED=true. This deployment has none.',
} as const

/** What a redirect tells: one of our own texts, never one from the address. */
export const noticeOf = (key: string | undefined): string | undefined => textOf(NOTICES, key)

/** Why a redirect leads here instead of where the reader wanted to go. */
export const warningOf = (key: string | undefined): string | undefined => textOf(WARNINGS, key)

function textOf(texts: Readonly<Record<string, string>>, key = ''): string | undefined {
  return Object.hasOwn(texts, key) ? texts[key] : undefined
}
