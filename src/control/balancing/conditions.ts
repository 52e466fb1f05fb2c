/** Checks the conditions of rules before they are stored. */
import { CONDITION_FIELDS } from '../../balancing/condition-fields.js';
import { compileExpression } from '../../expressions/compile.js';
import { fieldTable } from '../../expressions/fields.js';

const FIELDS = fieldTable<never, typeof CONDITION_FIELDS>(CONDITION_FIELDS);

/** Why a text is not a condition, with the place of the fault; undefined for a good one. */
export function faultOfCondition(condition: string): string | undefined {
  const compiled = compileExpression(condition, FIELDS);
  return compiled.ok ? undefined : `${compiled.fault.message} at offset ${compiled.fault.offset}`;
}
