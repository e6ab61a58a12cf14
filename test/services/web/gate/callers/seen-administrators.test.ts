import { describe, expect, it } from 'vitest'
import type { Session } from '../../../../../services/platform/people/sessions.ts'
import type { Role } from '../../../../../services/platform/people/users.ts'
import { createSeenAdministrators } from '../../../../../services/web/gate/callers/seen-administrators.ts'

const session = (...roles: Role[]): Session => ({
  id: 'x',
  user: { id: 1, organizationId: 1, email: null, name: 'Ada', roles },
  organization: 'Acme',
  role: 'viewer',
  organizations: [],
  approvals: 0,
  csrfToken: 'x',
  isLocal: true,
})
const admin = session('platform-admin')

describe('the administrators that a pod saw lately', () => {
  it('are kept for ten minutes after the database confirmed them', () => {
    let now = 0
    const seen = createSeenAdministrators(() => now)
    seen.note('token', admin)
    now = 10 * 60 * 1000 - 1
    expect(seen.find('token')).toBe(admin)
    expect(seen.find('another')).toBeUndefined()
    now += 1
    expect(seen.find('token')).toBeUndefined()
    seen.note('token', admin)
    expect(seen.find('token')).toBe(admin)
  })

  it('are forgotten when they are none any more, or signed out', () => {
    const seen = createSeenAdministrators()
    seen.note('member', session())
    expect(seen.find('member')).toBeUndefined()
    seen.note('token', admin)
    seen.note('token', session())
    expect(seen.find('token')).toBeUndefined()
    seen.note('token', admin)
    seen.forget('token')
    expect(seen.find('token')).toBeUndefined()
  })

  it('are a hundred at the most: the one not seen for longest goes', () => {
    const seen = createSeenAdministrators()
    for (let index = 0; index < 100; index += 1) seen.note(`token-${index}`, admin)
    seen.note('token-0', admin)
    seen.note('one more', admin)
    expect(seen.find('token-0')).toBe(admin)
    expect(seen.find('token-1')).toBeUndefined()
    expect(seen.find('token-2')).toBe(admin)
  })
})
