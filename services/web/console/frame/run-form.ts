import type { Context } from 'hono'
import type { Automation } from '../../../platform/automations/automations.ts'
import type { CrewDefinition } from '../../../platform/definitions/crew-definition.ts'
import { inputFields } from '../../../platform/definitions/crew-inputs.ts'
import { storeInputFile } from '../../../platform/runs/input-files.ts'
import { inputText } from '../../../platform/definitions/input-text.ts'
import { AppError } from '../../../shared/errors.ts'
import { mediaType } from '../../../shared/http/request-body.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { readForm, requireCsrfToken, requireSameOrigin } from '../../gate/callers/forms.ts'
import type { SignedIn, WebDeps } from '../../context.ts'
import { createTurns, readFileForm } from '../../http/file-uploads.ts'
import type { FormFile } from '../../http/multipart.ts'
import { INPUT_PREFIX, readStartForm } from './start-form.ts'
import type { SentForm } from './start-form.ts'

interface Target {
  readonly automation: Automation
  readonly definition: CrewDefinition
}

/** A form that starts a run, with all of its fields. */
interface RunForm<Found extends Target> extends SentForm {
  readonly form: URLSearchParams
  readonly target: Found
}

/** Reads the form that starts a run, and stores the files that it brings. */
type ReadRunForm = <Found extends Target>(
  c: Context<SignedIn>,
  findTarget: () => Found | Promise<Found>,
) => Promise<RunForm<Found>>

/**
 * Creates the reader of forms that start runs. It raises `csrf_failed` as `requireForm` does, and
 * asks for the target once the form is known to be one of ours.
 */
export function createRunFormReader({ sql, config }: WebDeps): ReadRunForm {
  const takeTurn = createTurns()
  return async function readRunForm(c, findTarget) {
    requireSameOrigin(c, config.PLATFORM_BASE_URL)
    if (mediaType(c.req.raw) !== 'multipart/form-data') {
      const form = await readForm(c.req.raw)
      requireCsrfToken(form, c.var.session)
      const target = await findTarget()
      return { form, target, ...(await readStartForm(sql, { form, ...target })) }
    }
    return takeTurn(async () => {
      const { fields: form, files } = await readFileForm(c.req.raw)
      requireCsrfToken(form, c.var.session)
      const target = await findTarget()
      const fileProblem = await storeFiles(sql, form, { ...target, files })
      return { form, target, ...(await readStartForm(sql, { form, fileProblem, ...target })) }
    })
  }
}

/**
 * Stores the files of the inputs that are files, and puts what identifies them into the form: one
 * that is shown again keeps them. Returns the first problem.
 */
async function storeFiles(
  sql: Database,
  form: URLSearchParams,
  { automation, definition, files }: Target & { readonly files: readonly FormFile[] },
): Promise<string | undefined> {
  const names = inputFields(definition).filter(({ type }) => type === 'file')
  let problem: string | undefined
  for (const { name } of names) {
    const file = files.find(({ field }) => field === INPUT_PREFIX + name)
    if (!file) continue
    try {
      const { id, name: stored } = await storeInputFile(sql, { automation, ...file })
      form.set(INPUT_PREFIX + name, inputText({ file_id: id, name: stored }))
    } catch (thrown) {
      if (!(thrown instanceof AppError)) throw thrown
      problem ??= thrown.message
    }
  }
  return problem
}
