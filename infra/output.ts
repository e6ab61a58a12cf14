import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import type { Files } from './template/manifests.ts'

const OURS = /^(\d\d-[a-z-]+\.yaml|chart)$/

/**
 * Replaces a directory by the given files, if it is not the same already. It is complete at any
 * time: the files are written beside it and moved into place. Small files are read and written
 * several times faster without a thread for each. Returns in which paths it differed.
 */
export function replaceDirectory(directory: string, files: Files): readonly string[] {
  const target = resolve(directory)
  refuseForeign(target)
  const different = differences(target, files)
  if (different.length === 0) return different
  const [fresh, former] = [`${target}.new-${process.pid}`, `${target}.old-${process.pid}`]
  try {
    const folders = new Set([...files.keys()].map((path) => dirname(join(fresh, path))))
    for (const folder of folders) mkdirSync(folder, { recursive: true })
    for (const [path, text] of files) writeFileSync(join(fresh, path), text)
    unlessMissing(() => renameSync(target, former))
    renameSync(fresh, target)
  } finally {
    for (const path of [fresh, former]) rmSync(path, { recursive: true, force: true })
  }
  return different
}

/** A directory with anything else in it was not written by us, and is not ours to replace. */
function refuseForeign(directory: string): void {
  const names = unlessMissing(() => readdirSync(directory))
  const foreign = names?.find((name) => !OURS.test(name))
  if (foreign !== undefined) {
    throw new Error(
      `${relative('.', directory) || '.'} holds ${foreign}, which synth did not write; ` +
        'choose an empty directory with --out',
    )
  }
}

/** The paths in which a directory differs from the given files. */
export function differences(directory: string, files: Files): readonly string[] {
  const root = resolve(directory)
  const entries = unlessMissing(() => readdirSync(root, { recursive: true, withFileTypes: true }))
  const present = (entries ?? [])
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
  const paths = [...new Set([...files.keys(), ...present])].sort()
  return paths.flatMap((path) => {
    const current = unlessMissing(() => readFileSync(join(root, path), 'utf8'))
    const wanted = files.get(path)
    if (wanted === current) return []
    if (wanted === undefined) return [`${path}: is not rendered any more`]
    return [`${path}: ${current === undefined ? 'is missing' : 'differs'}`]
  })
}

function unlessMissing<Result>(read: () => Result): Result | undefined {
  try {
    return read()
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return undefined
    throw thrown
  }
}
