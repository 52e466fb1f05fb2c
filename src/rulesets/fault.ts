/** What is wrong with a rule. */

/** `pointer`: JSON pointer to the member, from the rule. */
export class RuleFault extends Error {
  constructor(
    readonly pointer: string,
    message: string,
    /** Whether an expression is wrong. */
    readonly isExpression = false,
  ) {
    super(message);
  }

  within(place: string): RuleFault {
    return new RuleFault(`${place}${this.pointer}`, this.message, this.isExpression);
  }
}

export type Members = Readonly<Record<string, unknown>>;

/** Throws {@link RuleFault} unless it is an object with no members but these. */
export function objectOf(value: unknown, pointer: string, known: readonly string[]): Members {
  const name = pointer.slice(pointer.lastIndexOf('/') + 1);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new RuleFault(pointer, `${name || 'a rule'} must be an object`);
  }
  const unknown = Object.keys(value).find((member) => !known.includes(member));
  if (unknown !== undefined) {
    const shown = unknown.slice(0, 64);
    throw new RuleFault(`${pointer}/${shown}`, `'${shown}' is not available in ${name || 'a rule'} here`);
  }
  return value as Members;
}

/** Control characters end a line, and with it a header field. */
const CONTROLS = /[\0-\x1f\x7f]/;

export function hasControls(text: string): boolean {
  return CONTROLS.test(text);
}
