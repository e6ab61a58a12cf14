import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

/** A bundle of the images, in kB, also as a registry compresses it. */
export interface Bundle {
  readonly name: string
  readonly kilobytes: number
  readonly compressed: number
}

/** Bundles as the images do, and weighs each program. */
export function weighBundles(): readonly Bundle[] {
  const out = mkdtempSync(join(tmpdir(), 'bench-bundles-'))
  try {
    const program = ['scripts/bundle-and-run.cjs', 'scripts/build.ts', '--out', out]
    const { status, stderr } = spawnSync(process.execPath, program, { encoding: 'utf8' })
    if (status !== 0) throw new Error(stderr)
    return readdirSync(out).flatMap((name) => weigh(name, join(out, name, 'main.js')))
  } finally {
    rmSync(out, { recursive: true })
  }
}

function weigh(name: string, path: string): readonly Bundle[] {
  try {
    const content = readFileSync(path)
    const compressed = gzipSync(content).length / 1000
    return [{ name, kilobytes: content.length / 1000, compressed }]
  } catch {
    // A folder of files that a program reads.
    return []
  }
}
