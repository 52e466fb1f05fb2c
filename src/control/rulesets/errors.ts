/** Refusals of rules of zones: HTTP status, v4 code, text. */
import { type AppError, defineErrors } from '../../base/errors.js';
import { RuleFault } from '../../rulesets/fault.js';

export const rulesetFailure = defineErrors('rulesets', {
  missing: { status: 404, code: 10000, text: 'could not find ruleset {id}' },
  ruleMissing: { status: 404, code: 10002, text: 'could not find rule {id} in the ruleset' },
  noEntrypoint: { status: 404, code: 10003, text: 'could not find entrypoint ruleset in the {phase} phase' },
  noVersion: {
    status: 404,
    code: 10004,
    text: 'could not find version {version} of the ruleset: only the current one, {current}, is kept',
  },
  invalid: { status: 400, code: 20016, text: 'not a valid value for {member}: {reason}' },
  expression: { status: 400, code: 20127, text: 'the expression cannot be parsed: {reason}' },
  exists: {
    status: 400,
    code: 20217,
    text: "'zone' is not a valid value for kind because exceeded maximum number of zone rulesets for phase {phase}",
  },
  pageRuleMissing: { status: 404, code: 1002, text: 'could not find page rule {id}' },
  pageRule: { status: 400, code: 1004, text: 'Page Rule validation failed: {reason}' },
  tooMany: {
    status: 403,
    code: 20018,
    text: 'a zone may have at most {most} rules in all phases, and this one would have {count}',
  },
  tooLarge: {
    status: 403,
    code: 20019,
    text: 'the rules of a zone may have at most {most} octets, and these would have {count}',
  },
  stale: { status: 412, code: 1116, text: 'The ruleset was changed meanwhile; its entity tag is now {tag}.' },
});

/** A refusal of what a body says. */
export function invalid(pointer: string, reason: string): AppError {
  const member = pointer.slice(pointer.lastIndexOf('/') + 1) || 'the body';
  return rulesetFailure('invalid', { member, reason }, { pointer });
}

/** Runs a check of one rule; `place`: JSON pointer to it. */
export function checked<Result>(place: string, run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof RuleFault)) throw error;
    const { pointer, message, isExpression } = error.within(place);
    throw isExpression ? rulesetFailure('expression', { reason: message }, { pointer }) : invalid(pointer, message);
  }
}
