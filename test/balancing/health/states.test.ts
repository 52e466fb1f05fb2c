/** States of origins, pools and groups, and what nodes agree on: every row of the tables. */
import t from 'tap';
import { isExpectedCode, parseExpectedCodes } from '../../../src/balancing/expected-codes.js';
import { reasonOfError } from '../../../src/balancing/health/failure-reason.js';
import {
  afterEdit,
  afterResult,
  type OriginState,
  type Standing,
  stateOfGroup,
  UNKNOWN,
} from '../../../src/balancing/health/origin-state.js';
import { isPoolUp, poolState } from '../../../src/balancing/health/pool-state.js';
import { agreedState } from '../../../src/balancing/health/votes.js';

/** `+` passes, `-` fails; returns the state after each. */
function run(results: string, consecutiveUp: number, consecutiveDown: number, from: Standing = UNKNOWN): string[] {
  let standing = from;
  return [...results].map((result) => {
    standing = afterResult(standing, result === '+' ? 'pass' : 'fail', { consecutiveUp, consecutiveDown });
    return standing.state;
  });
}

t.test('an origin', async (t) => {
  t.strictSame(run('+', 3, 3), ['healthy'], 'the first result decides at once');
  t.strictSame(run('-', 3, 3), ['unhealthy']);
  t.strictSame(run('+-+--', 1, 2), ['healthy', 'healthy', 'healthy', 'healthy', 'unhealthy'], 'only failures in a row');
  t.strictSame(run('-++-+++', 3, 1), [...Array(6).fill('unhealthy'), 'healthy'], 'only passes in a row');
  t.strictSame(run('+-+', 0, 0), ['healthy', 'unhealthy', 'healthy'], '0 means 1');
  const almost = afterResult({ state: 'healthy', against: 0 }, 'fail', { consecutiveUp: 1, consecutiveDown: 2 });
  t.strictSame(almost, { state: 'healthy', against: 1 });
  t.strictSame(afterEdit(almost), { state: 'healthy', against: 0 }, 'an edit keeps the state and counts anew');
});

t.test('a group of monitors', async (t) => {
  const vote = (text: string) => ({
    state: (text.startsWith('+') ? 'healthy' : text.startsWith('-') ? 'unhealthy' : 'unknown') as OriginState,
    monitoringOnly: text.includes('m'),
    mustBeHealthy: text.includes('!'),
  });
  const stateOf = (...votes: string[]) => stateOfGroup(votes.map(vote));
  t.equal(stateOf('+', '+', '-!'), 'unhealthy', 'one that must be healthy decides');
  t.equal(stateOf('-', '+'), 'healthy', 'half is not more than half');
  t.equal(stateOf('-', '-', '+'), 'unhealthy');
  t.equal(stateOf('-m', '-m', '+'), 'healthy', 'monitoring only does not count');
  t.equal(stateOf('-m!', '+'), 'unhealthy', 'unless it must be healthy');
  t.equal(stateOf('?', '?'), 'unknown');
  t.equal(stateOf('+', '?!'), 'unknown', 'what must be healthy is not known yet');
  t.equal(stateOf('?', '+'), 'healthy');
  t.equal(stateOf('?', '?', '-'), 'unknown');
  t.equal(stateOf('-m'), 'unknown');
});

t.test('a pool', async (t) => {
  const stateOf = (text: string, minimum: number) =>
    poolState(
      [...text].map((one) => (one === '+' ? 'healthy' : one === '-' ? 'unhealthy' : 'unknown')),
      minimum,
    );
  t.equal(stateOf('+++', 1), 'healthy');
  t.equal(stateOf('+-+', 2), 'degraded');
  t.equal(stateOf('+?+', 3), 'critical', 'unknown counts as down');
  t.equal(stateOf('--', 1), 'critical');
  t.equal(stateOf('??', 1), 'unknown');
  t.equal(stateOf('--', 0), 'degraded', 'without a minimum it is never unhealthy');
  t.ok(isPoolUp(stateOf('??', 0), 0));
  t.notOk(isPoolUp(stateOf('??', 1), 1));
  t.notOk(isPoolUp('critical', 1));
  t.ok(isPoolUp('degraded', 1));
});

t.test('nodes and regions agree', async (t) => {
  const agreed = (before: OriginState, regions: Record<string, string>) =>
    agreedState(
      Object.entries(regions).flatMap(([region, votes]) =>
        [...votes].map((one, i) => ({
          node: `${region}${i}`,
          region,
          state: (one === '+' ? 'healthy' : one === '-' ? 'unhealthy' : 'unknown') as OriginState,
        })),
      ),
      before,
    );
  t.equal(agreed('healthy', { WEU: '--+' }), 'unhealthy', 'the majority of a region');
  t.equal(agreed('healthy', { WEU: '-----', ENAM: '+', OC: '+' }), 'healthy', 'a region has one vote');
  t.equal(agreed('healthy', { WEU: '+-' }), 'healthy', 'a tie changes nothing');
  t.equal(agreed('unhealthy', { WEU: '+-' }), 'unhealthy');
  t.equal(agreed('unknown', { WEU: '+-' }), 'unhealthy', 'and decides for down when nothing was known');
  t.equal(agreed('healthy', { WEU: '???', OC: '-' }), 'unhealthy', 'who knows nothing has no vote');
  t.equal(agreed('healthy', {}), 'unknown');
});

t.test('reasons', async (t) => {
  t.equal(reasonOfError('ECONNREFUSED', 'connect'), 'TCP connection failed');
  t.equal(reasonOfError('ECONNRESET', 'exchange'), 'Connection Reset by Peer');
  t.equal(reasonOfError('ECONNRESET', 'handshake'), 'TLS Handshake Failure');
  t.equal(reasonOfError('CERT_HAS_EXPIRED', 'handshake'), 'TLS untrusted certificate error');
  t.equal(reasonOfError('HPE_INVALID_CONSTANT', 'exchange'), 'HTTP Invalid Response');
  t.equal(reasonOfError('ESOMETHING', 'exchange'), 'Other Failure');
  t.equal(reasonOfError(undefined, 'handshake'), 'TLS Handshake Failure');
});

t.test('expected codes', async (t) => {
  const expects = (text: string, ...codes: number[]) =>
    codes.map((code) => isExpectedCode(parseExpectedCodes(text)!, code));
  t.strictSame(expects('200', 199, 200, 201), [false, true, false]);
  t.strictSame(expects('2xx', 199, 200, 299, 300), [false, true, true, false]);
  t.strictSame(expects('200,301-303', 200, 300, 301, 303, 304), [true, false, true, true, false]);
  t.strictSame(expects('2XX, 404', 204, 404), [true, true]);
  for (const bad of [
    '',
    ',',
    '2x',
    '6xx',
    '99',
    '303-301',
    '200;',
    '200-',
    '-200',
    '2xx-3xx',
    '200,',
    'x'.repeat(300),
  ]) {
    t.equal(parseExpectedCodes(bad), undefined, bad.slice(0, 20));
  }
});
