import type { IResolver, ResolutionContext } from 'cdk8s'
import { evaluate, truthyIn, Val } from './expression.ts'
import type { Context } from './expression.ts'
import { isObject } from './json.ts'
import { Each, Either, existence, isSpread, When } from './structure.ts'

/** Reads a construct tree as manifests: every symbolic value becomes its value, and what is not wanted is gone. */
export class PlainReading implements IResolver {
  /** What is read now. */
  context: Context = {}

  resolve(resolution: ResolutionContext): void {
    const node: unknown = resolution.value
    const plain = this.read(node)
    if (plain !== node) resolution.replaceValue(plain)
  }

  /** The next step towards plain data; the same node when it is plain on this level. */
  private read(node: unknown): unknown {
    if (!this.exists(node)) return undefined
    if (node instanceof Val) return evaluate(node.expression, this.context)
    if (node instanceof When) return node.inner
    if (node instanceof Either) return { value: evaluate(node.value.expression, this.context) }
    if (Array.isArray(node))
      return node.some(isStructural) ? node.flatMap((item) => this.elements(item)) : node
    return isObject(node) && Object.keys(node).some(isSpread) ? this.pour(node) : node
  }

  private exists(node: unknown): boolean {
    const condition = existence(node)
    return condition === undefined || truthyIn(condition.expression, this.context)
  }

  private elements(item: unknown): readonly unknown[] {
    if (item instanceof When) return this.exists(item) ? this.elements(item.inner) : []
    if (item instanceof Each) return this.repeat(item)
    return [item]
  }

  private repeat({ over, element }: Each<unknown>): readonly unknown[] {
    const items = evaluate(over.expression, this.context)
    if (!Array.isArray(items)) throw new Error('only a list can be repeated over')
    return items.map((item) =>
      element(
        (key) =>
          new Val({ op: 'literal', value: asText(isObject(item) ? item[key] : item) }, 'string'),
      ),
    )
  }

  private pour(node: Readonly<Record<string, unknown>>): unknown {
    const entries = Object.entries(node).map(([key, value]) =>
      isSpread(key) && value instanceof Val
        ? evaluate(value.expression, this.context)
        : { [key]: value },
    )
    return Object.assign({}, ...entries)
  }
}

const isStructural = (item: unknown): boolean => item instanceof When || item instanceof Each

const asText = (value: unknown): string => (typeof value === 'string' ? value : '')
