/** Rules of monitors. */
import { parseExpectedCodes } from '../../balancing/expected-codes.js';
import type { Members } from '../../balancing/members.js';
import { type MonitorType, monitorOfMembers } from '../../balancing/monitor.js';
import type { BalancingLimits } from '../kernel/context.js';
import { hasControls, hostOf, requireText, requireWhole } from './check.js';
import { invalid } from './errors.js';

/** Of a port, null says that it is that of the type. */
export const NULLABLE_OF_MONITOR = ['port'];

const MOST_HEADERS = 20;
const LONGEST_PATH = 2048;
/** What is read of a body. */
const LONGEST_BODY = 10_240;
const LONGEST_INTERVAL = 3600;
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/;
/** Those of a connection (RFC 9110 §7.6.1), and those that say where a message ends. */
const OF_CONNECTION = new Set([
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Throws 1002 for a monitor that means nothing. */
export function checkMonitor(members: Members, limits: BalancingLimits): void {
  const monitor = monitorOfMembers('', members);
  const isHttp = monitor.type === 'http' || monitor.type === 'https';
  requireText(members, 'description', 1000);
  requireText(members, 'probe_zone', 255);
  requireWhole(members, 'interval', { least: limits.minimumInterval, most: LONGEST_INTERVAL });
  requireWhole(members, 'timeout', { least: 1, most: 10 });
  requireWhole(members, 'retries', { least: 0, most: 5 });
  requireWhole(members, 'consecutive_up', { least: 0, most: 20 });
  requireWhole(members, 'consecutive_down', { least: 0, most: 20 });
  requireWhole(members, 'port', { least: 0, most: 65_535 });
  const longest = monitor.timeout * (monitor.retries + 1);
  if (longest > monitor.interval) {
    throw invalid(
      `timeout × (retries + 1) is ${longest}, which is more than the interval of ${monitor.interval}`,
      '/timeout',
    );
  }
  checkType(monitor.type, monitor.port, limits);
  if (isHttp && monitor.method !== 'GET' && monitor.method !== 'HEAD') {
    throw invalid('method is not one of GET, HEAD', '/method');
  }
  requireText(members, 'method', 32);
  checkPath(monitor.path);
  checkHeader(monitor.header);
  checkCodes(monitor.expectedCodes);
  if (Buffer.byteLength(monitor.expectedBody) > LONGEST_BODY) {
    throw invalid(`expected_body is longer than ${LONGEST_BODY} octets`, '/expected_body');
  }
}

function checkType(type: MonitorType, port: number | undefined, { mayPing }: BalancingLimits): void {
  if ((type === 'icmp_ping' || type === 'udp_icmp') && !mayPing) {
    throw invalid(
      `type ${type} is not available here: the server may not send ICMP messages (ping_group_range, CAP_NET_RAW)`,
      '/type',
    );
  }
  if ((type === 'tcp' || type === 'udp_icmp' || type === 'smtp') && !port) {
    throw invalid(`port is required for type ${type}`, '/port');
  }
}

function checkPath(path: string): void {
  if (!path.startsWith('/')) throw invalid('path does not start with /', '/path');
  if (path.length > LONGEST_PATH) throw invalid(`path is longer than ${LONGEST_PATH} characters`, '/path');
  if (!/^[!-~]+$/.test(path)) throw invalid('path contains a space, a control character or other than ASCII', '/path');
}

function checkHeader(header: Readonly<Record<string, readonly string[]>>): void {
  const names = Object.keys(header);
  if (names.length > MOST_HEADERS) throw invalid(`header has more than ${MOST_HEADERS} names`, '/header');
  const lower = names.map((name) => name.toLowerCase());
  for (const [i, name] of names.entries()) {
    const at = `/header/${name.replaceAll('~', '~0').replaceAll('/', '~1').slice(0, 64)}`;
    const key = lower[i]!;
    if (!TOKEN.test(name)) throw invalid(`header has a name that is not a token (RFC 9110)`, '/header');
    if (lower.indexOf(key) !== i) throw invalid(`header has ${name} twice`, at);
    if (key === 'user-agent') throw invalid('header cannot set User-Agent', at);
    if (OF_CONNECTION.has(key)) throw invalid(`header cannot set ${name}`, at);
    const values = header[name]!;
    if (values.length < 1 || values.length > 10) throw invalid(`header ${name} does not have 1 to 10 values`, at);
    for (const value of values) checkValue(name, value, at);
    if (key === 'host' && (values.length !== 1 || hostOf(values[0]!) === undefined)) {
      throw invalid('header Host is not one host name', at);
    }
  }
}

function checkValue(name: string, value: string, at: string): void {
  if (hasControls(value)) throw invalid(`header ${name} contains a control character`, at);
  if (!/^[\x20-\x7e\x80-\xff]*$/.test(value)) throw invalid(`header ${name} contains other than Latin-1`, at);
  if (value.length > 1024) throw invalid(`header ${name} is longer than 1024 characters`, at);
}

function checkCodes(codes: string): void {
  if (!parseExpectedCodes(codes))
    throw invalid('expected_codes is not a list of codes and ranges, such as 200,2xx,301-303', '/expected_codes');
}
