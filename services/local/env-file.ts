import { writeFile } from 'node:fs/promises'
import { shellWord } from '../shared/shell-word.ts'

/**
 * Writes variables as a file that a shell sources, readable by its owner only. Returns the file.
 */
export async function writeEnvFile(
  file: string,
  variables: Readonly<Record<string, string>>,
): Promise<string> {
  const lines = Object.entries(variables).map(
    ([name, value]) => `export ${name}=${shellWord(value)}\n`,
  )
  await writeFile(file, lines.join(''), { mode: 0o600 })
  return file
}
