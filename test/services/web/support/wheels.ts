import { createHash } from 'node:crypto'
import type { Database } from '../../../../services/shared/postgres/database.ts'
import { uploadTool } from '../../../../services/platform/tools/tool-uploads.ts'
import { zip } from '../../../../services/shared/python-package/python-package.ts'

export interface Wheel {
  readonly name: string
  readonly version: string
  readonly filename: string
  readonly content: Buffer
  readonly requiresPython?: string | undefined
}

/** A wheel that pip installs: one module, and the three files of metadata. */
export function makeWheel(name: string, version: string, requiresPython?: string): Wheel {
  const stem = `${name.replace(/[-.]/g, '_')}-${version}`
  const metadata = [
    'Metadata-Version: 2.1',
    `Name: ${name}`,
    `Version: ${version}`,
    'Summary: For tests.',
    ...(requiresPython ? [`Requires-Python: ${requiresPython}`] : []),
    '',
  ]
  const entries: [string, string][] = [
    [`${name.replace(/[-.]/g, '_')}.py`, `VERSION = '${version}'\n`],
    [`${stem}.dist-info/METADATA`, metadata.join('\n')],
    [
      `${stem}.dist-info/WHEEL`,
      'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
    ],
  ]
  const record = entries.map(([path, text]) => {
    const digest = createHash('sha256').update(text).digest('base64url')
    return `${path},sha256=${digest},${Buffer.byteLength(text)}\n`
  })
  const recordPath = `${stem}.dist-info/RECORD`
  entries.push([recordPath, `${record.join('')}${recordPath},,\n`])
  const archived = entries.map(([path, text]) => ({ path, content: Buffer.from(text) }))
  const filename = `${stem}-py3-none-any.whl`
  return { name, version, filename, content: zip(archived), requiresPython }
}

/** Stores a wheel as an upload would. */
export async function storeWheel(
  sql: Database,
  key: { readonly repositoryId: number; readonly uploadedBy: number | null },
  wheel: Wheel,
): Promise<void> {
  const sha256 = createHash('sha256').update(wheel.content).digest()
  const description = { ...wheel, requiresPython: wheel.requiresPython ?? null, sha256 }
  await uploadTool(sql, { ...key, content: [wheel.content], describe: async () => description })
}

/** What twine sends for a wheel; `change` replaces fields, and removes those that are undefined. */
export function uploadForm(
  wheel: Wheel,
  change: Record<string, string | undefined> = {},
  filename = wheel.filename,
): FormData {
  const fields: Record<string, string | undefined> = {
    ':action': 'file_upload',
    protocol_version: '1',
    name: wheel.name,
    version: wheel.version,
    filetype: 'bdist_wheel',
    pyversion: 'py3',
    metadata_version: '2.1',
    description: 'long '.repeat(20_000),
    sha256_digest: createHash('sha256').update(wheel.content).digest('hex'),
    ...change,
  }
  const form = new FormData()
  for (const [name, value] of Object.entries(fields))
    if (value !== undefined) form.append(name, value)
  form.append('content', new Blob([Uint8Array.from(wheel.content)]), filename)
  return form
}
