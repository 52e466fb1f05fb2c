/** Valid bucket names, and choices from lists (v4: §13). Pure. */

const NAME = /^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/;

export function isBucketName(text: unknown): text is string {
  return typeof text === 'string' && NAME.test(text);
}

/** The member of a list that a text names, case ignored; undefined for any other text. */
export function findChoice<Choice extends string>(choices: readonly Choice[], text: unknown): Choice | undefined {
  if (typeof text !== 'string') return undefined;
  const lower = text.toLowerCase();
  return choices.find((choice) => choice.toLowerCase() === lower);
}
