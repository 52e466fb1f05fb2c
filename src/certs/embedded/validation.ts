/** How the built-in authority validates control over a name: RFC 8555 §8.3 (http-01) and §8.4 (dns-01). */
import type { Resolver } from '../../resolver/resolve.js';
import { dnsChallengeValue, type Problem } from '../authority.js';
import { CHALLENGE_PATH, type FetchToken } from '../http-challenge.js';

/** Undefined when the TXT records at `_acme-challenge.` prove control, otherwise the reason. */
export async function validateByDns(
  resolver: Resolver,
  identifier: string,
  keyAuthorization: string,
): Promise<Problem | undefined> {
  const name = `_acme-challenge.${identifier}`;
  const expected = dnsChallengeValue(keyAuthorization);
  const { status, records, reason = status } = await resolver.resolve(name, 'TXT', { bypassCache: true });
  if (records.some(({ content }) => content === expected)) return undefined;
  if (status === 'servfail' || status === 'timeout') {
    return problem('dns', 400, `The TXT records of ${name} could not be looked up: ${reason}.`);
  }
  if (records.length === 0) return problem('dns', 400, `There is no TXT record at ${name}.`);
  return problem('unauthorized', 403, `No TXT record at ${name} has the requested value.`);
}

/** Undefined when the answer of the name's web server proves control, otherwise the reason. */
export async function validateByHttp(
  fetchToken: FetchToken,
  identifier: string,
  token: string,
  keyAuthorization: string,
): Promise<Problem | undefined> {
  const url = `http://${identifier}${CHALLENGE_PATH}${token}`;
  const body = await fetchToken(identifier, token);
  if (typeof body !== 'string') {
    const because = body === undefined ? '' : ` ${body.reason}`;
    return problem('connection', 400, `${url} could not be fetched.${because}`);
  }
  // Trailing blanks are ignored (RFC 8555 §8.3).
  if (body.trimEnd() === keyAuthorization) return undefined;
  return problem('unauthorized', 403, `${url} does not answer with the key authorization.`);
}

function problem(type: string, status: number, detail: string): Problem {
  return { type, status, detail, subproblems: [] };
}
