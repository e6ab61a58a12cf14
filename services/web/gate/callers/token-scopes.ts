import type { TokenRefusal } from '../../../platform/automations/static-tokens.ts'
import type { TokenScope } from '../../../platform/automations/token-limits.ts'
import { AppError } from '../../../shared/errors.ts'
import { NOUNS } from '../../nouns/list.ts'
import { scopesAt } from '../../resources/rights.ts'

/** What says which resources files keep: `apply --prune` deletes no others. */
const MANAGED = '/designer/v2/managed/'
/** Files name automations by their slugs: a token that keeps settings in files reads the list. */
const PARENTS = '/designer/v2/automations'
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD'])

/** Returns the scopes of which a token of an organization needs one for a call. */
export function scopesFor(method: string, path: string): readonly TokenScope[] {
  const isRead = READS.has(method)
  if (path.startsWith('/tools/')) return isRead ? ['read', 'upload'] : ['upload']
  const found = NOUNS.flatMap((noun) => noun.read(scopesAt(path)))
  const other = path.startsWith(MANAGED) ? 'settings' : 'design'
  const [scope = other, ...others] = found.length > 0 ? found : ([other, 'read'] as const)
  const more = path === PARENTS ? (['settings'] as const) : []
  if (isRead) return [...new Set<TokenScope>([...others, scope, ...more])]
  return path.endsWith('/executions') ? ['kickoff'] : [scope]
}

/** Builds the refusal of a token that is known, to its bearer. */
export function refusedToken(refusal: TokenRefusal, scopes: readonly TokenScope[]): AppError {
  const details = { reason: refusal }
  switch (refusal) {
    case 'token_expired':
      return new AppError('invalid_token', 'The token has expired. Issue another one.', { details })
    case 'address_not_allowed':
      return new AppError('invalid_token', 'The token may not be used from this address.', {
        details,
      })
    case 'insufficient_scope':
      return new AppError(
        'insufficient_scope',
        `The token lacks the scope ${scopes.join(' or ')}. Issue one that has it.`,
        { details },
      )
  }
}
