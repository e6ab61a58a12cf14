import { basename } from 'node:path'
import type { SerializedError, UserConsoleLog } from 'vitest'
import { DefaultReporter } from 'vitest/node'
import type { TestModule, TestSpecification } from 'vitest/node'

/** A run of more files says how far its rooms are, instead of each file. */
const FEW = 20
const SLOWEST = 10
/** What files say on the console, when they are loaded, of the tests that cannot run here. */
const WHY_SKIPPED =
  /skipped|on the PATH|recorded|\b(?:not|nothing is|nothing was) (?:tried|tested|run|read)\b/
const LONG_FORM = 'more time is needed: npm run test:long takes it, alone, with browser or crews'

interface Room {
  readonly left: Set<string>
  readonly counts: { passed: number; failed: number; skipped: number; pending: number }
}

/**
 * Shows a run by its rooms, and at the end the slowest files, why tests were skipped, and how to
 * run alone what failed.
 */
export class ByRoom extends DefaultReporter {
  private rooms = new Map<string, Room>()
  private isLarge = false
  private readonly reasons = new Set<string>()

  override onTestRunStart(specifications: readonly TestSpecification[]): void {
    this.isLarge = specifications.length > FEW
    this.rooms = new Map()
    for (const { moduleId } of specifications) this.roomOf(moduleId).left.add(moduleId)
    super.onTestRunStart(specifications)
  }

  override onUserConsoleLog(log: UserConsoleLog): void {
    const lines = log.content.split('\n').filter((line) => WHY_SKIPPED.test(line))
    for (const line of lines) this.reasons.add(line.trim())
    if (lines.length === 0 || !this.isLarge) super.onUserConsoleLog(log)
  }

  protected override printTestModule(module: TestModule): void {
    if (!this.isLarge || module.state() === 'failed') super.printTestModule(module)
    const room = this.roomOf(module.moduleId)
    for (const test of module.children.allTests()) room.counts[test.result().state]++
    room.left.delete(module.moduleId)
    if (!this.isLarge || room.left.size > 0) return
    const { passed, failed, skipped } = room.counts
    const rest = [failed && `${failed} failed`, skipped && `${skipped} skipped`].filter(Boolean)
    const done = [`${passed} passed`, ...rest].join(', ')
    this.log(` ${failed > 0 ? '✗' : '✓'} ${this.nameOf(module.moduleId)}: ${done}`)
  }

  override onTestRunEnd(
    modules: readonly TestModule[],
    errors: readonly SerializedError[],
    reason: 'passed' | 'interrupted' | 'failed',
  ): void {
    super.onTestRunEnd(modules, errors, reason)
    const tests = modules.flatMap((module) => [...module.children.allTests()])
    if (this.isLarge) {
      this.list('The slowest files, with their waits', this.slowest(modules, secondsOf))
      this.list('The files that worked most', this.slowest(modules, coreSecondsOf))
    }
    const skipped = tests.filter((test) => test.result().state === 'skipped')
    if (this.isLarge && skipped.length > 0) {
      this.list(`${skipped.length} tests were skipped`, [...this.reasons, LONG_FORM])
    }
    const failed = tests.filter((test) => test.result().state === 'failed')
    this.list(
      'To run what failed alone',
      failed.map(({ module, name }) => {
        const quoted = `'${name.replaceAll(/[.*+?^${}()|[\]\\]/g, '.').replaceAll("'", '.')}'`
        return `npx vitest run ${this.relative(module.moduleId)} -t ${quoted}`
      }),
    )
  }

  private slowest(
    modules: readonly TestModule[],
    measure: (module: TestModule) => number,
  ): readonly string[] {
    return modules
      .toSorted((a, b) => measure(b) - measure(a))
      .slice(0, SLOWEST)
      .map((each) => `${measure(each).toFixed(1).padStart(5)} s  ${this.relative(each.moduleId)}`)
  }

  private list(title: string, lines: readonly string[]): void {
    if (lines.length > 0)
      this.log([` ${title}:`, ...lines.map((line) => `   ${line}`), ''].join('\n'))
  }

  /** A test of a console's page is in `services/web`, one of the chart in `infra`. */
  private nameOf(path: string): string {
    const [, top = '', second = ''] = this.relative(path).split('/')
    return top !== 'services' || second === basename(path) ? top : `${top}/${second}`
  }

  private roomOf(path: string): Room {
    const counts = { passed: 0, failed: 0, skipped: 0, pending: 0 }
    const room = this.rooms.get(this.nameOf(path)) ?? { left: new Set(), counts }
    this.rooms.set(this.nameOf(path), room)
    return room
  }
}

const secondsOf = (module: TestModule): number =>
  (module.diagnostic().duration + module.diagnostic().collectDuration) / 1000

const coreSecondsOf = (module: TestModule): number => module.meta().coreSeconds ?? 0
