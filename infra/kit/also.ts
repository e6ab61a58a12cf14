import type { Val } from '../template/expression.ts'
import { pick, text } from '../template/operators.ts'
import type { Condition, In } from '../template/operators.ts'

/** A text that is added, behind a comma, while a condition holds. */
export const also = (condition: Condition, item: In<string>): Val<string> =>
  pick(condition, text`,${item}`, '')
