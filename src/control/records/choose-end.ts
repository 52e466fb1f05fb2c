/** Decides from the `expires_on` of a request when a record ends. */
import { endOf } from '../../store/records/indexed-settings.js';
import type { RecordRow, RecordSettings } from '../../store/records/records.js';
import type { Context } from '../kernel/context.js';
import { badBody } from '../kernel/errors.js';
import { parseEnd } from '../rules/instant.js';
import type { RecordInput } from './input.js';

const POINTER = '/expires_on';

/** Null clears it. Clients send back what they read, so a stored end that is over may be sent. */
export function chooseEnd(
  { clock }: Context,
  { expires_on: sent }: RecordInput,
  kept: RecordRow | undefined,
  stored: RecordRow | undefined,
): Pick<RecordSettings, 'expires_at'> {
  const before = kept && endOf(kept);
  if (sent === undefined) return before === undefined ? {} : { expires_at: before };
  if (sent === null) return {};
  const end = parseEnd(sent);
  if (end === undefined) {
    throw badBody('expires_on: expected a time before 2200, such as 2030-01-01T00:00:00Z', POINTER);
  }
  if (end <= clock.nowUs() && !(stored && endOf(stored) === end)) {
    throw badBody('expires_on must be in the future', POINTER);
  }
  return { expires_at: end };
}
