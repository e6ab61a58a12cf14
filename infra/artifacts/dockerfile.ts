import { readFileSync } from 'node:fs'

interface ImageContent {
  /** The image that it builds upon, such as `node:24`. */
  readonly base: string
  /** The bundles that it has, by their folder in `build`. */
  readonly programs: readonly string[]
  readonly hasPython: boolean
  /** All that it takes from `build`, as paths in there. */
  readonly copied: readonly string[]
}

interface Stage {
  readonly from: string
  readonly text: string
}

/** Reads what a target of the Dockerfile brings along. Raises for a target that there is not. */
export function contentOf(target: string, dockerfile = readFileSync('Dockerfile', 'utf8')) {
  const stages = stagesOf(dockerfile)
  const { from, text } = stageIn(stages, target)
  const copied = [...text.matchAll(/^COPY --from=build \/src\/build\/(\S+)/gm)].map(
    ([, path = '']) => path,
  )
  const names = copied.map((path) => path.split(/[/.]/)[0] ?? '')
  const content: ImageContent = {
    base: baseOf(stages, from),
    programs: names.filter((name) => !DATA.has(name)),
    hasPython: names.includes('python'),
    copied,
  }
  return content
}

/** Folders of `build` without a program. */
const DATA = new Set(['platform', 'python'])

function stagesOf(dockerfile: string): ReadonlyMap<string, Stage> {
  const stages = dockerfile.split(/^FROM /m).slice(1)
  return new Map(
    stages.map((text) => {
      const [, from = '', name = ''] = /^(\S+) AS (\S+)/.exec(text) ?? []
      return [name, { from, text }] as const
    }),
  )
}

function stageIn(stages: ReadonlyMap<string, Stage>, name: string): Stage {
  const stage = stages.get(name)
  if (!stage) throw new Error(`The Dockerfile has no stage ${name}.`)
  return stage
}

/** Stages build upon each other; the last one names an image. */
const baseOf = (stages: ReadonlyMap<string, Stage>, from: string): string => {
  const stage = stages.get(from)
  return stage ? baseOf(stages, stage.from) : from
}
