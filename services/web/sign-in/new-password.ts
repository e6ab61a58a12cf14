import { html } from 'hono/html'
import { PASSWORD_MIN_LENGTH } from '../../platform/people/passwords.ts'
import { AppError } from '../../shared/errors.ts'
import type { Html } from '../console/frame/parts.ts'
import type { PasswordChecks } from './password-checks.ts'

/** The two fields of a new password. */
export const newPasswordFields = (): Html =>
  html`${passwordField('New password', 'next')}
    <p class="hint under">At least ${PASSWORD_MIN_LENGTH} characters.</p>
    ${passwordField('New password again', 'again')}`

const passwordField = (label: string, name: string): Html =>
  html`<label
    >${label}
    <input type="password" name="${name}" autocomplete="new-password" maxlength="1024" required />
  </label>`

/**
 * Reads a new password from its form. Returns its hash, or what the person has to correct. Raises
 * `unavailable` when too many passwords are looked at.
 */
export async function readNewPassword(
  form: URLSearchParams,
  { hash }: PasswordChecks,
): Promise<{ readonly hash: string } | { readonly problem: string }> {
  const next = form.get('next') ?? ''
  if (next !== form.get('again')) return { problem: 'The two new passwords differ.' }
  try {
    return { hash: await hash(next) }
  } catch (thrown) {
    if (thrown instanceof AppError && thrown.code === 'unprocessable') {
      return { problem: thrown.message }
    }
    throw thrown
  }
}
