/** The octets on which real clients depend: the twenty rules of api-contract §0, and the samples of its appendix A. */
import { connect } from 'node:net';
import { Writable } from 'node:stream';
import t from 'tap';
import { createLogger } from '../../src/base/log.js';
import { turnsOfImports } from '../../src/control/imports/places.js';
import { until } from '../support/until.js';
import { ADMIN_HEADERS, ANONYMOUS, type Installation, install } from './installation.js';

/** Identifiers and instants vary with what a test did before; everything else is compared literally. */
function plain(text: string): string {
  return text
    .replace(/(["=])[0-9a-f]{32}"/g, '$1ID"')
    .replace(/20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, 'SECOND')
    .replace(/"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"/g, '"TIME"');
}

const META = '{"auto_added":false,"managed_by_apps":false,"managed_by_argo_tunnel":false,"source":"primary"}';
const OK = '"success":true,"errors":[],"messages":[]';
const ZONE =
  '{"id":"ID","name":"example.com","status":"active","paused":false,"type":"full","development_mode":0,' +
  '"name_servers":["ns1.dns.test","ns2.dns.test"],"original_name_servers":null,"original_registrar":null,' +
  '"original_dnshost":null,"modified_on":"TIME","created_on":"TIME","activated_on":"TIME",' +
  '"meta":{"step":2,"custom_certificate_quota":0,"page_rule_quota":3,"phishing_detected":false,"proven_by":"operator","proven_at":"TIME","contested":false,' +
  '"proof_record":{"name":"_zoneplane-zone.example.com","content":"zoneplane-zone=ID","type":"TXT"},' +
  '"proof_detail":"The name is proven by the word of this server’s operator since SECOND."},' +
  '"owner":{"id":null,"type":"user","email":null},"account":{"id":"ID","name":"ACCOUNT"},' +
  '"tenant":{"id":null,"name":null},"tenant_unit":{"id":null},' +
  '"permissions":["#dns_records:edit","#dns_records:read","#zone:edit","#zone:read"],' +
  '"plan":{"id":"0feeeeeeeeeeeeeeeeeeeeeeeeeeeeee","name":"Free Website","price":0,"currency":"USD","frequency":"",' +
  '"is_subscribed":false,"can_subscribe":false,"legacy_id":"free","legacy_discount":false,"externally_managed":false}}';

const A_RECORD =
  '{"id":"ID","zone_id":"ID","zone_name":"example.com","name":"www.example.com","type":"A","content":"198.51.100.4",' +
  `"proxiable":true,"proxied":true,"ttl":1,"settings":{},"locked":false,"meta":${META},"comment":null,"tags":[],` +
  '"created_on":"TIME","modified_on":"TIME"}';

const SRV_RECORD =
  '{"id":"ID","zone_id":"ID","zone_name":"example.com","name":"_sip._tcp.example.com","type":"SRV",' +
  '"content":"5 5060 sip.example.com","priority":10,"proxiable":false,"proxied":false,"ttl":3600,"settings":{},' +
  '"data":{"port":5060,"priority":10,"target":"sip.example.com","weight":5},"locked":false,' +
  `"meta":${META},"comment":"voice","tags":["team:tel"],"created_on":"TIME","modified_on":"TIME",` +
  '"comment_modified_on":"TIME","tags_modified_on":"TIME"}';

t.test('zones: bytes, pages, filters', async (t) => {
  const { call, createZone, misfits } = await install(t);
  const created = await call('POST', '/zones', { name: 'Example.COM.', jump_start: true, account: { id: '' } });
  const accountName = created.json.result.account.name;
  t.equal(
    plain(created.text).replace('"ID","name":"example', '"ID","name":"example'),
    `{"result":${ZONE.replace('ACCOUNT', accountName).replace('0feeeeeeeeeeeeeeeeeeeeeeeeeeeeee', 'ID')},${OK}}`,
  );
  t.equal(created.headers['content-type'], 'application/json');
  const id: string = created.json.result.id;
  t.match(id, /^[0-9a-f]{32}$/);
  t.equal(created.headers['cache-control'], 'no-store');

  const info = (page: number, perPage: number, count: number, total: number, pages: number): string =>
    `"result_info":{"page":${page},"per_page":${perPage},"count":${count},"total_count":${total},"total_pages":${pages}}`;
  const one = await call('GET', '/zones?name=example.com&per_page=1');
  t.equal(
    plain(one.text),
    `{"result":[${plain(created.text).slice('{"result":'.length).replace(`,${OK}}`, '')}],${OK},${info(1, 1, 1, 1, 1)}}`,
  );
  t.equal(
    (await call('GET', '/zones?name=_acme-challenge.www.nowhere.test')).text,
    `{"result":[],${OK},${info(1, 20, 0, 0, 0)}}`,
    'an unknown name is an empty list (rule 8)',
  );
  t.equal((await call('GET', '/zones?name=com')).json.result_info.total_count, 0, 'so is a public suffix');
  t.equal((await call('GET', '/zones?page=2')).text, `{"result":[],${OK},${info(2, 20, 0, 1, 1)}}`, 'rule 1');

  for (const name of ['b.test', 'c.test', 'a.test', 'xn--bcher-kva.test']) await createZone(name);
  const pages = await Promise.all([1, 2, 3, 4].map((page) => call('GET', `/zones?per_page=2&page=${page}`)));
  t.strictSame(
    pages.map(({ json }) => json.result.map((zone: { name: string }) => zone.name)),
    [['a.test', 'b.test'], ['c.test', 'example.com'], ['bücher.test'], []],
    'a stable order by name; internationalised names in Unicode',
  );
  t.strictSame(
    pages.map(({ json }) => Object.values(json.result_info)),
    [
      [1, 2, 2, 5, 3],
      [2, 2, 2, 5, 3],
      [3, 2, 1, 5, 3],
      [4, 2, 0, 5, 3],
    ],
  );
  for (const query of [
    'name=EXAMPLE.com.',
    'name=equal:example.com',
    'name=contains:xampl',
    'name=starts_with:examp',
    'name[ends_with]=x&name=ends_with:ple.com',
    'status=active&name=example.com&page=1&per_page=1000',
    'name=example.com&match=all&type=full,partial&order=status&direction=desc',
  ]) {
    const { json } = await call('GET', `/zones?${query}`);
    t.strictSame(
      json.result.map((zone: { id: string }) => zone.id),
      [id],
      query,
    );
  }
  for (const name of ['b%C3%BCcher.test', 'xn--bcher-kva.test', 'B%C3%9CCHER.test.']) {
    t.equal((await call('GET', `/zones?name=${name}`)).json.result[0]?.name, 'bücher.test', name);
  }
  t.equal((await call('GET', '/zones?per_page=0')).json.result_info.per_page, 20);
  t.equal((await call('GET', '/zones?per_page=9999')).json.result_info.per_page, 50);
  t.equal((await call('GET', '/zones?page=x&per_page=y')).json.result_info.page, 1);

  t.equal((await call('PATCH', `/zones/${id}`, { paused: true })).json.result.paused, true);
  t.equal((await call('PATCH', `/zones/${id}`, { plan: { id: 'x' } })).json.result.paused, true, 'a plan is ignored');
  t.equal(
    (await call('PUT', `/zones/${id}/activation_check`)).text,
    `{"result":{"id":"${id}"},${OK.replace('[]}', '').replace('"messages":[]', '"messages":[{"code":10204,"message":"example.com is active."}]')}}`,
  );
  t.equal((await call('DELETE', `/zones/${id}`)).text, `{"result":{"id":"${id}"},${OK}}`);
  t.equal((await call('GET', `/zones/${id}`)).status, 404);
  t.strictSame(misfits, []);
});

t.test('records: bytes', async (t) => {
  const { call, createZone, misfits } = await install(t);
  const zone = await createZone('example.com');
  const records = `/zones/${zone}/dns_records`;
  const created = await call('POST', records, {
    type: 'a',
    name: 'WWW',
    content: '198.51.100.4',
    proxied: true,
    ttl: 3600,
  });
  t.equal(plain(created.text), `{"result":${A_RECORD},${OK}}`);
  t.equal(
    plain((await call('GET', records)).text),
    `{"result":[${A_RECORD}],${OK},"result_info":{"page":1,"per_page":100,"count":1,"total_count":1,"total_pages":1}}`,
  );
  t.equal(
    (await call('GET', `${records}?page=2`)).text,
    `{"result":[],${OK},"result_info":{"page":2,"per_page":100,"count":0,"total_count":1,"total_pages":1}}`,
  );
  t.equal(plain((await call('GET', `${records}/${created.json.result.id}`)).text), `{"result":${A_RECORD},${OK}}`);
  const service = await call('POST', records, {
    type: 'SRV',
    name: '_sip._tcp',
    data: { priority: 10, weight: 5, port: 5060, target: 'sip.example.com' },
    ttl: 3600,
    comment: 'voice',
    tags: ['team:tel'],
  });
  t.equal(plain(service.text), `{"result":${SRV_RECORD},${OK}}`);
  t.match(created.text, /"created_on":"2024-05-05T12:00:00\.123\d{3}Z"/);
  const { id } = service.json.result;
  t.equal((await call('DELETE', `${records}/${id}`)).text, `{"result":{"id":"${id}"},${OK}}`);
  t.strictSame(misfits, []);
});

t.test('what clients send, and what they need in return', async (t) => {
  const { call, createZone, misfits } = await install(t);
  const zone = await createZone('example.com');
  const records = `/zones/${zone}/dns_records`;
  const post = async (body: unknown) => {
    const { status, json, text } = await call('POST', records, body);
    if (status !== 200) t.fail(text);
    return json.result;
  };

  await t.test('numbers as floats and texts (rule 13)', async (t) => {
    const float = await call('POST', records, undefined, {
      text: '{"type":"MX","name":"@","content":"mx1.example.com","priority":10.0,"ttl":120.0}',
    });
    t.match(float.text, /"content":"mx1\.example\.com","priority":10,.*"ttl":120,/);
    const text = await call('POST', records, {
      type: 'SSHFP',
      name: 'host',
      content: null,
      data: { algorithm: '4', type: '2', fingerprint: 'ab'.repeat(32) },
    });
    t.match(text.text, /"data":\{"algorithm":4,"fingerprint":"(ab)+","type":2\}/);
    const quoted = await post({
      type: 'SRV',
      name: '_a._tcp',
      data: { priority: '1', weight: 2.0, port: '3', target: 'h.test' },
    });
    t.strictSame(quoted.data, { port: 3, priority: 1, target: 'h.test', weight: 2 });
    t.equal(quoted.content, '2 3 h.test');
  });

  await t.test('unknown members and nulls (rule 9)', async (t) => {
    const record = await post({
      id: '',
      type: 'A',
      name: 'null',
      content: '192.0.2.1',
      data: null,
      tags: null,
      comment: null,
      priority: null,
      proxied: null,
      settings: {},
      extra: {},
      meta: null,
      locked: true,
      created_on: '0001-01-01T00:00:00Z',
      modified_on: null,
      zone_name: 'other.test',
      ttl: 0,
    });
    t.match(record, { ttl: 1, proxied: false, comment: null, tags: [], locked: false });
    const priority = await post({ type: 'A', name: 'priority', content: '192.0.2.1', priority: 0 });
    t.equal('priority' in priority, false);
  });

  await t.test('TXT comes back byte for byte (rule 10)', async (t) => {
    const texts = [
      'plain text',
      '"quoted"',
      '"a" "b"',
      'semi;colon',
      'tab\there',
      'ümlaut',
      '"q \\" in"',
      '  spaces ',
      'v=spf1 -all',
    ];
    for (const [i, content] of texts.entries()) {
      const record = await post({ type: 'TXT', name: `txt${i}`, content });
      t.equal(record.content, content);
      const found = await call(
        'GET',
        `${records}?type=TXT&name=txt${i}.example.com&content=${encodeURIComponent(content)}&per_page=1`,
      );
      t.equal(found.json.result[0]?.id, record.id, `found by ${content}`);
    }
    for (const content of ['quoted', '"plain%20text"', 'plain%20text']) {
      t.equal((await call('GET', `${records}?type=TXT&content=${content}`)).json.result_info.count, 1, content);
    }
  });

  await t.test('names and targets (rules 11, 12)', async (t) => {
    const names = {
      relative: 'relative.example.com',
      '@': 'example.com',
      'FULL.Example.com': 'full.example.com',
      'dotted.example.com.': 'dotted.example.com',
      bücher: 'xn--bcher-kva.example.com',
      '*.wild': '*.wild.example.com',
      _dmarc: '_dmarc.example.com',
    };
    for (const [sent, name] of Object.entries(names)) {
      t.equal((await post({ type: 'TXT', name: sent, content: `for ${sent}` })).name, name);
    }
    for (const [type, extra] of [
      ['CNAME', {}],
      ['NS', {}],
      ['PTR', {}],
      ['MX', { priority: 5 }],
    ] as const) {
      t.equal(
        (await post({ type, name: `t-${type}`, content: 'Target.Example.NET.', ...extra })).content,
        'target.example.net',
      );
    }
    const nullMx = await post({ type: 'MX', name: 'nomail', content: '.', priority: 0 });
    t.strictSame([nullMx.content, nullMx.priority], ['.', 0]);
  });

  await t.test('PATCH keeps what is absent, tags:null included; PUT does not', async (t) => {
    const { id } = await post({
      type: 'A',
      name: 'patch',
      content: '192.0.2.1',
      tags: ['a:b'],
      comment: 'c',
      ttl: 300,
    });
    const one = `${records}/${id}`;
    t.match((await call('PATCH', one, { tags: null, settings: {}, content: '192.0.2.2' })).json.result, {
      content: '192.0.2.2',
      tags: ['a:b'],
      comment: 'c',
      ttl: 300,
    });
    t.strictSame((await call('PATCH', one, { tags: [], comment: '' })).json.result.tags, []);
    t.equal((await call('GET', one)).json.result.comment, null);
    const before = (await call('PATCH', one, { comment: 'again' })).json.result;
    t.equal(
      (await call('PATCH', one, { comment: 'again' })).json.result.modified_on,
      before.modified_on,
      'nothing changed',
    );
    const put = await call('PUT', one, { type: 'A', name: 'patch', content: '192.0.2.3' });
    t.match(put.json.result, { content: '192.0.2.3', ttl: 1, comment: null, tags: [] });
  });
  t.strictSame(misfits, []);
});

t.test('transport: paths, bodies, content types', async (t) => {
  const { call, createZone, app } = await install(t);
  const zone = await createZone('example.com');
  const records = `/zones/${zone}/dns_records`;
  const body = JSON.stringify({ type: 'A', name: 'a', content: '192.0.2.1' });

  for (const path of [
    '/zones/?name=example.com',
    '//v4/zones?name=example.com',
    '//client//v4///zones/?name=example.com',
    '//v4/zones/?name=example.com',
  ]) {
    t.equal((await call('GET', path)).json?.result?.[0]?.id, zone, `${path} (rules 4, 20)`);
  }
  t.equal((await call('GET', `${records}/?type=A`)).status, 200);
  const json = { 'content-type': 'application/json' };
  t.equal((await call('GET', '/zones', undefined, { headers: json })).status, 200, 'rule 5: GET');
  for (const contentType of [
    'text/plain;charset=UTF-8',
    'application/x-www-form-urlencoded',
    '',
    'nonsense',
    '///;;',
    'application/json; charset=utf-8',
    'multipart/form-data',
  ]) {
    const sent = await call('POST', records, undefined, { text: body, headers: { 'content-type': contentType } });
    t.equal(sent.status, 200, `rule 6: ${contentType} ${sent.text}`);
    const empty = await call('DELETE', `${records}/${sent.json.result?.id}`, undefined, {
      headers: { 'content-type': contentType },
    });
    t.equal(empty.status, 200, `rule 5: DELETE with ${contentType} and no body`);
  }
  const bare = await app.inject({
    method: 'POST',
    url: `/client/v4${records}`,
    headers: ADMIN_HEADERS,
    payload: Buffer.from(body),
  });
  t.equal(bare.statusCode, 200, 'no content type at all');
  const withBody = await call('DELETE', `${records}/${bare.json().result.id}`, {});
  t.equal(withBody.status, 200, 'DELETE with {}');
  t.equal((await call('PUT', `/zones/${zone}/activation_check`, undefined, { headers: json })).status, 200);

  const head = await call('HEAD', '/zones');
  const get = await call('GET', '/zones');
  t.strictSame(
    [head.status, head.text, head.headers['content-length']],
    [200, '', String(Buffer.byteLength(get.text))],
  );
  const ips = await call('GET', '/ips', undefined, { headers: ANONYMOUS });
  t.match(
    ips.text,
    /^\{"result":\{"ipv4_cidrs":\["192\.0\.2\.250\/32"\],"ipv6_cidrs":\["2001:db8::fa\/128"\],"etag":"[0-9a-f]{32}"\},"success":true,/,
  );
});

/** Sends octets, gives back everything until the connection is closed or `enough` answers have come. */
function exchange(port: number, text: string, enough = Number.POSITIVE_INFINITY): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    let seen = '';
    socket.setEncoding('latin1');
    socket.on('data', (piece: string) => {
      seen += piece;
      if (seen.split('HTTP/1.1 ').length > enough && seen.endsWith('}')) socket.destroy();
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(seen));
  });
}

t.test('a body must arrive in time', async (t) => {
  const { app, clock } = await install(t);
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as { port: number };
  const credential = `X-Auth-Email: ${ADMIN_HEADERS['x-auth-email']}\r\nX-Auth-Key: ${ADMIN_HEADERS['x-auth-key']}\r\n`;
  const reached = new Promise((resolve) => app.server.once('request', () => setImmediate(resolve)));
  const slow = exchange(
    port,
    `POST /client/v4/zones HTTP/1.1\r\nHost: x\r\n${credential}Content-Length: 99\r\n\r\n{"name":`,
  );
  await reached;
  clock.advance(60_000);
  const answer = await slow;
  t.match(answer, /^HTTP\/1\.1 400 Bad Request\r\n/);
  t.match(answer, /\r\nconnection: close\r\n/i);
  t.match(answer, /"errors":\[\{"code":9207,"message":"The request did not arrive in time\."\}\]/);
});

t.test('on a real connection', async (t) => {
  const { app, createZone } = await install(t);
  const zone = await createZone('example.com');
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as { port: number };
  const credential = `X-Auth-Email: ${ADMIN_HEADERS['x-auth-email']}\r\nX-Auth-Key: ${ADMIN_HEADERS['x-auth-key']}\r\n`;

  const old = await exchange(port, `GET /client/v4/zones?name=example.com HTTP/1.0\r\n${credential}\r\n`);
  t.match(old, /^HTTP\/1\.1 200 OK\r\n/);
  t.match(old, /\r\ncontent-length: \d+\r\n/i);
  t.match(old, /\r\nconnection: close\r\n/i);
  t.notMatch(old, /transfer-encoding/i);
  t.match(old, new RegExp(`"id":"${zone}"`));
  const exported = await exchange(
    port,
    `GET /client/v4/zones/${zone}/dns_records/export HTTP/1.0\r\n${credential}\r\n`,
  );
  t.notMatch(exported, /transfer-encoding/i, 'a stream is not chunked for HTTP/1.0 either');

  const get = `GET /client/v4/zones?name=example.com HTTP/1.1\r\nHost: x\r\n${credential}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`;
  const twice = await exchange(port, get + get, 2);
  t.equal(twice.split(`"id":"${zone}"`).length, 3, 'GET with {} leaves the connection usable (rule 7)');

  const absolute = await exchange(port, `GET http://api.test/client/v4/ips HTTP/1.0\r\n\r\n`);
  t.match(absolute, /^HTTP\/1\.1 200 OK/);
  const upgrade = await exchange(
    port,
    `GET /client/v4/ips HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: h2c\r\n\r\n`,
  );
  t.match(upgrade, /^HTTP\/1\.1 200 OK/);
  for (const head of [
    `GET /client/v4/zones?name=example.com HTTP/1.0\r\n${credential}\r\n`,
    `GET /client/v4/zones?name=example.com HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${credential}\r\n`,
  ]) {
    const stale = await exchange(port, `${head}${'stale octets '.repeat(40)}`);
    t.match(stale, /^HTTP\/1\.1 200 OK\r\n/, 'what follows the last request is ignored');
    t.match(stale, new RegExp(`"id":"${zone}"`));
    t.equal(stale.split('HTTP/1.1 ').length, 2, 'one answer');
  }
  const garbage = await exchange(port, 'hello\r\n\r\n');
  t.match(garbage, /^HTTP\/1\.1 400 Bad Request\r\nContent-Type: application\/json/);
  t.match(garbage, /\r\n\r\n\{"result":null,"success":false,"errors":\[\{"code":9207,/);
  const overflow = await exchange(port, `GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'a'.repeat(40_000)}\r\n\r\n`);
  t.match(overflow, /headers are too large/);
  const packed = await exchange(
    port,
    `POST /client/v4/zones HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${credential}Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nxyz`,
  );
  t.match(packed, /"message":"its Content-Encoding is gzip; only plain JSON is read"/);
  // More than the buffers of a connection hold: who is still sending when it ends would lose the answer.
  for (const length of [1_048_577, 24 << 20]) {
    const wide = await exchange(
      port,
      `POST /client/v4/zones HTTP/1.1\r\nHost: x\r\n${credential}Content-Length: ${length}\r\n\r\n${'x'.repeat(length)}`,
    );
    t.match(wide, /^HTTP\/1\.1 400 Bad Request\r\n/);
    t.match(wide, /at most 1048576 octets/);
  }
});

t.test('a body that goes on after its refusal ends with its connection', async (t) => {
  const { app, clock } = await install(t);
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as { port: number };
  const socket = connect(port, '127.0.0.1', () =>
    socket.write('POST /client/v4/zones HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n'),
  );
  t.teardown(() => socket.destroy());
  let heard = '';
  socket.on('data', (piece) => (heard += piece));
  socket.on('error', () => {});
  await until(() => heard.includes('"success":false'));
  socket.write('1\r\na\r\n');
  await until(() => {
    clock.advance(2_000);
    return socket.closed;
  });
});

t.test('a client that disconnects in the middle of a body is not an error', async (t) => {
  const lines: { level: string; msg: string }[] = [];
  let noted = (): void => {};
  const answered = new Promise<void>((resolve) => {
    noted = resolve;
  });
  const destination = new Writable({
    write(line, _encoding, done) {
      const entry = JSON.parse(String(line));
      lines.push(entry);
      if (entry.path === '/client/v4/zones') noted();
      done();
    },
  });
  const { app } = await install(t, { log: createLogger({ level: 'debug', pretty: false, destination }) });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as { port: number };
  const credential = `X-Auth-Email: ${ADMIN_HEADERS['x-auth-email']}\r\nX-Auth-Key: ${ADMIN_HEADERS['x-auth-key']}\r\n`;
  const reached = new Promise((resolve) => app.server.once('request', () => setImmediate(resolve)));
  const socket = connect(port, '127.0.0.1', () =>
    socket.write(`POST /client/v4/zones HTTP/1.1\r\nHost: x\r\n${credential}Content-Length: 99\r\n\r\n{"name":`),
  );
  socket.on('error', () => {});
  await reached;
  socket.resetAndDestroy();
  await answered;
  t.match(
    lines.filter(({ msg }) => msg.includes('hung up')).map(({ level }) => level),
    ['debug'],
  );
  t.strictSame(
    lines.filter(({ level }) => level !== 'debug' && level !== 'info'),
    [],
    'nothing an operator must look at',
  );
});

t.test('a zone file whose client has gone waits for no place', async (t) => {
  const { app, base, token } = await install(t);
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as { port: number };
  const turns = turnsOfImports(base);
  const held = ['1', '2', '3', '4', '5', '6', '7', '8'].map((account) => turns.enterNow([account])!);
  const { authorization } = await token();
  const file = `@ 300 IN SOA ns1 admin 7 7200 3600 1209600 300\n@ NS ns1\nns1 A 192.0.2.1\n${';\n'.repeat(8192)}`;
  const head = `POST /client/v4/zones/import?name=gone.test HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\n`;
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write(`${head}content-type: text/plain\r\ncontent-length: ${file.length}\r\n\r\n${file}`);
  await until(() => turns.waiting === 1);
  socket.destroy();
  await until(() => turns.waiting === 0);
  for (const leave of held) leave();
});

t.test('receipts of changes', async (t) => {
  const { call, createZone } = await install(t);
  const zone = await createZone('example.com');
  const records = `/zones/${zone}/dns_records`;
  const first = await call('POST', records, { type: 'A', name: 'a', content: '192.0.2.1' });
  const second = await call('POST', records, { type: 'A', name: 'b', content: '192.0.2.1' });
  t.match(first.headers['zoneplane-change'], /^[1-9]\d*$/);
  t.equal(Number(second.headers['zoneplane-change']), Number(first.headers['zoneplane-change']) + 1);
  t.equal(Number(second.headers['zoneplane-serial']), Number(first.headers['zoneplane-serial']) + 1);
  const idle = await call('PATCH', `${records}/${second.json.result.id}`, { content: '192.0.2.1' });
  t.equal(idle.headers['zoneplane-change'], undefined, 'nothing changed');
  const refused = await call('POST', records, { type: 'A', name: 'b', content: '192.0.2.1' });
  t.equal(refused.headers['zoneplane-change'], undefined);
  t.equal((await call('GET', records)).headers['zoneplane-change'], undefined);
});

/** A form as curl and the vendor's client send it, or with bare line feeds and no end after the last boundary. */
function form(parts: readonly (readonly [head: string, content: string])[], lineEnd: string, closed = lineEnd): string {
  const body = parts.map(
    ([head, content]) =>
      `--xXx${lineEnd}Content-Disposition: form-data; ${head}${lineEnd}${lineEnd}${content}${lineEnd}`,
  );
  return `${body.join('')}--xXx--${closed}`;
}

t.test('batch, import, export, usage', async (t) => {
  const { call, createZone, misfits }: Installation = await install(t);
  const zone = await createZone('example.com');
  const records = `/zones/${zone}/dns_records`;
  const { json } = await call('POST', records, { type: 'CNAME', name: 'www', content: 'old.test' });
  const batch = await call('POST', `${records}/batch`, {
    posts: [
      { type: 'A', name: 'www', content: '192.0.2.1' },
      { type: 'TXT', name: 't', content: 'x' },
    ],
    deletes: [{ id: json.result.id }],
    patches: null,
  });
  t.equal(batch.status, 200, batch.text);
  t.match(
    batch.text,
    /^\{"result":\{"deletes":\[\{"id":"[0-9a-f]{32}",.*\}\],"patches":\[\],"puts":\[\],"posts":\[\{"id"/,
  );
  const half = await call('POST', `${records}/batch`, {
    posts: [
      { type: 'A', name: 'half', content: '192.0.2.1' },
      { type: 'A', name: 'www', content: '192.0.2.1' },
    ],
  });
  t.strictSame([half.status, half.json.errors[0].code], [400, 81058]);
  t.equal((await call('GET', `${records}?name=half.example.com`)).json.result_info.total_count, 0, 'all or nothing');
  t.equal((await call('GET', `${records}/usage`)).text, `{"result":{"record_quota":null,"record_usage":2},${OK}}`);

  const file =
    '$TTL 300\n$ORIGIN example.com.\nfile 1 IN A 192.0.2.7\nwww 300 IN A 192.0.2.1\nm IN MX 10 mx.example.com.\n';
  const type = (boundary = 'xXx') => ({ headers: { 'content-type': `multipart/form-data; boundary=${boundary}` } });
  const sent = await call('POST', `${records}/import`, undefined, {
    text: form(
      [
        ['name="file"; filename="z.txt"\r\nContent-Type: text/plain', file],
        ['name="proxied"', 'true'],
      ],
      '\r\n',
    ),
    ...type('"xXx"'),
  });
  t.equal(sent.status, 200, sent.text);
  t.match(
    plain(sent.text),
    /^\{"result":\{"recs_added":2,"total_records_parsed":3\},"success":true,"errors":\[\],"messages":\[\{"code":81058,"message":"[^"]+"\}\],"timing":\{"start_time":"TIME","end_time":"TIME","process_time":[\d.e-]+\}\}$/,
  );
  t.equal((await call('GET', `${records}?name=file.example.com`)).json.result[0].proxied, true);
  const lenient = await call('POST', `${records}/import`, undefined, {
    text: form([['name="file"', 'lf.example.com. 60 IN A 192.0.2.8']], '\n', ''),
    ...type(),
  });
  t.equal(lenient.json?.result?.recs_added, 1, `bare line feeds (rule 19) ${lenient.text}`);
  for (const [text, options, message] of [
    ['', {}, /multipart\/form-data/],
    ['x', type(), /boundary/],
    [form([['name="other"', 'x']], '\r\n'), type(), /no part named/],
    [form([['name="file"', ';'.repeat(262_145)]], '\r\n'), type(), /262144/],
    [
      form(
        [
          ['name="file"', 'x'],
          ['name="proxied"', 'maybe'],
        ],
        '\r\n',
      ),
      type(),
      /true or false/,
    ],
    ['--xXx\r\nContent-Disposition: form-data; name="file"\r\n\r\nx', type(), /closing boundary/],
    [form([['name="file"', '$INCLUDE other.zone']], '\n'), type(), /\$INCLUDE directive not allowed/],
    [form([['name="file"', '\na.example.com. IN A nowhere\n']], '\n'), type(), /line\/?\s?2/i],
  ] as const) {
    const refused = await call('POST', `${records}/import`, undefined, { text, ...options });
    t.equal(refused.status, 400, String(message));
    t.match(refused.text, message);
  }

  const exported = await call('GET', `${records}/export`);
  t.equal(exported.headers['content-type'], 'text/plain; charset=utf-8');
  t.match(exported.text, /^www\.example\.com\.\t1\tIN\tA\t192\.0\.2\.1/m);
  t.equal((await call('HEAD', `${records}/export`)).text, '');
  t.equal((await call('GET', `/zones/${'0'.repeat(32)}/dns_records/export`)).status, 404);
  t.match(exported.text, /^;; Domain: +example\.com\./m);
  t.strictSame(misfits, []);
});

t.test('neighbours and settings', async (t) => {
  const { call, createZone, misfits } = await install(t);
  const zone = await createZone('example.com');
  for (const path of [
    'pagerules?status=active',
    'workers/routes',
    'addressing/regional_hostnames',
    'custom_certificates',
  ]) {
    t.strictSame((await call('GET', `/zones/${zone}/${path}`)).json.result, [], path);
  }
  t.equal((await call('GET', `/zones/${zone}/available_plans`)).json.result[0].legacy_id, 'free');
  t.strictSame((await call('GET', `/zones/${zone}/ssl/universal/settings`)).json.result, { enabled: true });
  const rules = await call('GET', `/zones/${zone}/rulesets/phases/http_request_dynamic_redirect/entrypoint`);
  t.strictSame([rules.status, rules.json.success], [404, false]);
  t.equal((await call('POST', '/graphql', { query: '{}' })).text, '{"data":null}');
  t.equal(
    (await call('GET', `/zones/${zone}/dns_settings`)).text,
    '{"result":{"flatten_all_cnames":false,"foundation_dns":false,"multi_provider":false,' +
      '"nameservers":{"type":"cloudflare.standard"},"ns_ttl":86400,"secondary_overrides":false,' +
      '"soa":{"expire":604800,"min_ttl":1800,"mname":null,"refresh":10000,"retry":2400,"rname":"dns.dns.test","ttl":3600},' +
      `"zone_mode":"standard"},${OK}}`,
  );
  const edited = await call('PATCH', `/zones/${zone}/dns_settings`, { soa: { refresh: 7200 }, ns_ttl: 3600 });
  t.match(edited.json.result, { ns_ttl: 3600, soa: { refresh: 7200, retry: 2400 } });
  t.equal((await call('GET', `/zones/${'0'.repeat(32)}/pagerules`)).status, 404);
  t.strictSame(misfits, []);
});
