/** Refusals of the built-in authority, in the terms of RFC 8555 §6.7. */
import { AuthorityError, type Problem } from '../authority.js';

/** `type`: without its prefix. `status`: HTTP. `detail`: a sentence. */
export function refusal(
  type: string,
  status: number,
  detail: string,
  subproblems: Problem['subproblems'] = [],
): AuthorityError {
  return new AuthorityError({ type, status, detail, subproblems });
}
