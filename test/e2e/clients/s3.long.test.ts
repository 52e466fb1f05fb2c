/** S3 clients from Debian, unmodified, each through its whole cycle: aws, boto3, rclone, s3cmd, restic. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { freePort } from '../../support/free-ports.js';
import { type Program, startProgram, stopProgram } from '../../support/program.js';
import { until } from '../../support/until.js';

const PROGRAMS = ['aws', 'rclone', 's3cmd', 'restic', 'python3'].map((name) => `/usr/bin/${name}`);
const absent = [...PROGRAMS, '/usr/lib/python3/dist-packages/boto3'].filter((path) => !existsSync(path));
const skip = absent.length > 0 && process.env['CI'] !== 'true' ? `not installed: ${absent.join(', ')}` : false;

const directory = t.testdir();
const at = (file: string): string => join(directory, file);
const exec = promisify(execFile);
let program: Program;
let endpoint = '';
let environment: NodeJS.ProcessEnv = {};
let zoneplane: (...args: readonly string[]) => Promise<string>;

const run = async (file: string, ...args: readonly string[]): Promise<string> => {
  const { stdout, stderr } = await exec(file, args, { cwd: directory, env: environment, timeout: 120_000 });
  return stdout + stderr;
};
const refused = (file: string, ...args: readonly string[]): Promise<string> =>
  run(file, ...args).then(
    (text) => `not refused: ${text}`,
    (error: { stderr: string; stdout: string }) => error.stdout + error.stderr,
  );

t.before(async () => {
  if (skip) return;
  const port = await freePort();
  program = await startProgram({
    directory,
    key: 'clients-key-0123456789-0123456789-0123456789',
    environment: { ZONEPLANE_S3: 'auto', ZONEPLANE_S3_PORT: String(port) },
  });
  endpoint = `http://127.0.0.1:${port}`;
  const own = { ZONEPLANE_DATA_DIR: at('data'), ZONEPLANE_S3_PORT: String(port), PATH: process.env['PATH'] };
  zoneplane = async (...args) => {
    const { stdout } = await exec(process.execPath, ['build/src/main.js', ...args], { env: own });
    return stdout;
  };
  const made = JSON.parse(await zoneplane('key', 'create', 's3', '--json')) as { id: string; secret: string };
  // It listens once there is such a token.
  await until(() => program.printed().includes('S3 API listens'));
  environment = {
    PATH: process.env['PATH'],
    HOME: directory,
    AWS_ACCESS_KEY_ID: made.id,
    AWS_SECRET_ACCESS_KEY: createHash('sha256').update(made.secret).digest('hex'),
    AWS_DEFAULT_REGION: 'auto',
    AWS_EC2_METADATA_DISABLED: 'true',
  };
  mkdirSync(at('tree/sub dir/ü'), { recursive: true });
  for (let i = 0; i < 12; i++) writeFileSync(at(`tree/sub dir/ü/${i} +&%2F'()~.txt`), `file ${i}`);
  writeFileSync(at('tree/large'), Buffer.alloc(12_000_000, 'large'));
  writeFileSync(at('tree/empty'), '');
});

t.teardown(async () => {
  if (program) await stopProgram(program);
});

t.test('aws', { skip }, async (t) => {
  const aws = (...args: readonly string[]) => run('/usr/bin/aws', '--endpoint-url', endpoint, ...args);
  await aws('s3', 'mb', 's3://aws-bucket');
  t.match(await aws('s3', 'sync', 'tree', 's3://aws-bucket/tree'), /upload/);
  t.equal(await aws('s3', 'sync', 'tree', 's3://aws-bucket/tree'), '', 'nothing is left to do');
  await aws('s3', 'sync', 's3://aws-bucket/tree', 'copy');
  t.ok(readFileSync(at('copy/large')).equals(readFileSync(at('tree/large'))));
  t.equal(readFileSync(at("copy/sub dir/ü/7 +&%2F'()~.txt"), 'utf8'), 'file 7');
  await aws('s3', 'cp', 'tree/large', 's3://aws-bucket/one');
  await aws('s3', 'mv', 's3://aws-bucket/one', 's3://aws-bucket/two');
  const link = (await aws('s3', 'presign', 's3://aws-bucket/two', '--expires-in', '60')).trim();
  t.ok(Buffer.from(await (await fetch(link)).arrayBuffer()).equals(readFileSync(at('tree/large'))), 'presigned');
  await aws('s3', 'rm', '--recursive', 's3://aws-bucket/', '--exclude', 'tree/*');
  t.equal((await fetch(link)).status, 404);
  rmSync(at('copy/large'));
  t.match(await aws('s3', 'sync', 'copy', 's3://aws-bucket/tree', '--delete'), /delete: .*large/);
  const bucket = ['--bucket', 'aws-bucket'];
  const rules = [{ AllowedOrigins: ['https://a.test'], AllowedMethods: ['GET'], MaxAgeSeconds: 60 }];
  const cors = JSON.stringify({ CORSRules: rules });
  await aws('s3api', 'put-bucket-cors', ...bucket, '--cors-configuration', cors);
  t.match(JSON.parse(await aws('s3api', 'get-bucket-cors', ...bucket)), { CORSRules: rules });
  await aws('s3', 'rb', '--force', 's3://aws-bucket');
});

t.test('boto3', { skip }, async (t) => {
  writeFileSync(
    at('cycle.py'),
    `import boto3, botocore, urllib.request
c = boto3.client('s3', endpoint_url='${endpoint}')
c.create_bucket(Bucket='boto')
c.put_object(Bucket='boto', Key='a//../ü +', Body=b'octets', Metadata={'colour': 'red'})
r = c.get_object(Bucket='boto', Key='a//../ü +', Range='bytes=2-')
print(r['Body'].read().decode(), r['Metadata'])
for i in range(12): c.put_object(Bucket='boto', Key='list/%02d' % i, Body=b'')
pages = c.get_paginator('list_objects_v2').paginate(Bucket='boto', Prefix='list/', PaginationConfig={'PageSize': 5})
print([len(p['Contents']) for p in pages])
old = c.get_paginator('list_objects').paginate(Bucket='boto', Delimiter='/', PaginationConfig={'PageSize': 1})
print([x['Prefix'] for p in old for x in p.get('CommonPrefixes', [])])
v4 = boto3.client('s3', endpoint_url='${endpoint}', config=botocore.config.Config(signature_version='s3v4'))
url = v4.generate_presigned_url('get_object', Params={'Bucket': 'boto', 'Key': 'a//../ü +'}, ExpiresIn=60)
print(urllib.request.urlopen(url).read().decode())
keys = [o['Key'] for p in c.get_paginator('list_objects_v2').paginate(Bucket='boto') for o in p['Contents']]
print(len(c.delete_objects(Bucket='boto', Delete={'Objects': [{'Key': k} for k in keys]})['Deleted']))
try: c.get_object(Bucket='boto', Key='none')
except c.exceptions.NoSuchKey as e: print('NoSuchKey', e.response['ResponseMetadata']['HTTPStatusCode'])
rule = {'ID': 'old', 'Prefix': 'logs/', 'Status': 'Enabled', 'Expiration': {'Days': 3}}
c.put_bucket_lifecycle_configuration(Bucket='boto', LifecycleConfiguration={'Rules': [rule]})
found = c.get_bucket_lifecycle_configuration(Bucket='boto')['Rules'][0]
print('Filter' in found, found['Prefix'], found['Expiration'])
c.put_object(Bucket='boto', Key='logs/1', Body=b'x')
print(c.head_object(Bucket='boto', Key='logs/1')['Expiration'].split(', ')[-1])
try: c.put_object_lock_configuration(Bucket='boto', ObjectLockConfiguration={})
except botocore.exceptions.ClientError as e: print(e.response['Error']['Code'])
c.delete_object(Bucket='boto', Key='logs/1')
c.upload_file('tree/large', 'boto', 'in parts')
print(c.head_object(Bucket='boto', Key='in parts')['ETag'].split('-')[1][:1])
c.download_file('boto', 'in parts', 'boto-large')
c.delete_object(Bucket='boto', Key='in parts')
form = c.generate_presigned_post('boto', 'form')
fields = ''.join('--x\\r\\nContent-Disposition: form-data; name="%s"\\r\\n\\r\\n%s\\r\\n' % p for p in form['fields'].items())
post = urllib.request.Request(form['url'], (fields + '--x--').encode(), {'Content-Type': 'multipart/form-data; boundary=x'})
try: urllib.request.urlopen(post)
except urllib.error.HTTPError as e: print(e.code, 'NotImplemented' in e.read().decode())
c.delete_bucket_lifecycle(Bucket='boto')
c.delete_bucket(Bucket='boto')
`,
  );
  const lines = (await run('/usr/bin/python3', 'cycle.py')).trim().split('\n');
  t.strictSame(lines, [
    "tets {'colour': 'red'}",
    '[5, 5, 2]',
    "['a/', 'list/']",
    'octets',
    '13',
    'NoSuchKey 404',
    "False logs/ {'Days': 3}",
    'rule-id="old"',
    'NotImplemented',
    '2',
    '501 True',
  ]);
  t.ok(readFileSync(at('boto-large')).equals(readFileSync(at('tree/large'))), 'the transfer manager');
});

t.test('rclone', { skip }, async (t) => {
  const keys = [
    `access_key_id=${environment['AWS_ACCESS_KEY_ID']}`,
    `secret_access_key=${environment['AWS_SECRET_ACCESS_KEY']}`,
  ];
  const remote = `:s3,provider=Other,${keys.join(',')},endpoint="${endpoint}",region=auto:`;
  const rclone = (...args: readonly string[]) => run('/usr/bin/rclone', ...args);
  await rclone('mkdir', `${remote}rclone`);
  await rclone('sync', 'tree', `${remote}rclone/tree`, '--s3-upload-cutoff', '5M', '--s3-chunk-size', '5M');
  t.match(await rclone('check', '--download', 'tree', `${remote}rclone/tree`), / 0 differences found/);
  await rclone('copy', `${remote}rclone/tree`, `${remote}rclone/again`);
  t.match(await rclone('check', `${remote}rclone/tree`, `${remote}rclone/again`), / 0 differences found/);
  writeFileSync(at('few'), 'x');
  await rclone('sync', 'few', `${remote}rclone/few`);
  await rclone('purge', `${remote}rclone/again`);
  t.match(await rclone('lsf', `${remote}rclone`), 'few/\ntree/\n');
  t.match(await refused('/usr/bin/rclone', 'rmdir', `${remote}nothing`), /NoSuchBucket/);
});

t.test('s3cmd', { skip }, async (t) => {
  const host = endpoint.replace('http://', '');
  const keys = [
    `--access_key=${environment['AWS_ACCESS_KEY_ID']}`,
    `--secret_key=${environment['AWS_SECRET_ACCESS_KEY']}`,
  ];
  const usual = [...keys, `--host=${host}`, `--host-bucket=${host}`, '--no-ssl', '--region=auto'];
  const s3cmd = (...args: readonly string[]) => run('/usr/bin/s3cmd', ...usual, ...args);
  await s3cmd('mb', 's3://s3cmd');
  await s3cmd('sync', 'tree/', 's3://s3cmd/tree/', '--multipart-chunk-size-mb=5');
  t.match(await s3cmd('info', 's3://s3cmd/tree/large'), /MD5 sum: +\w{32}/);
  await s3cmd('expire', 's3://s3cmd', '--expiry-days=30', '--expiry-prefix=tmp/');
  t.match(await s3cmd('info', 's3://s3cmd'), /prefix 'tmp\/' will expire in '30'/);
  await s3cmd('cp', 's3://s3cmd/tree/large', 's3://s3cmd/other');
  await s3cmd('get', 's3://s3cmd/other', 'other');
  t.ok(readFileSync(at('other')).equals(readFileSync(at('tree/large'))));
  await s3cmd('setacl', 's3://s3cmd/other', '--acl-private');
  t.match(await refused('/usr/bin/s3cmd', ...usual, 'setacl', 's3://s3cmd/other', '--acl-public'), /501/);
  await s3cmd('del', '--recursive', '--force', 's3://s3cmd');
  await s3cmd('rb', 's3://s3cmd');
});

t.test('restic', { skip }, async (t) => {
  const own = { RESTIC_PASSWORD: 'secret', RESTIC_REPOSITORY: `s3:${endpoint}/restic`, XDG_CACHE_HOME: at('cache') };
  environment = { ...environment, ...own };
  const restic = (...args: readonly string[]) => run('/usr/bin/restic', ...args);
  await restic('init');
  await restic('backup', 'tree');
  await restic('backup', 'tree');
  await restic('forget', '--keep-last', '1', '--prune');
  t.match(await restic('check', '--read-data'), /no errors were found/);
  await restic('restore', 'latest', '--target', 'restored');
  t.equal(readFileSync(at("restored/tree/sub dir/ü/3 +&%2F'()~.txt"), 'utf8'), 'file 3');
});

t.test('credentials and links from the command line', { skip }, async (t) => {
  await zoneplane('bucket', 'create', 'album');
  const printed = await zoneplane('bucket', 'key', 'create', 'album');
  const configuration = printed.slice(printed.indexOf('[album]'));
  writeFileSync(at('rclone.conf'), configuration);
  const rclone = (...args: readonly string[]) => run('/usr/bin/rclone', '--config', at('rclone.conf'), ...args);
  await rclone('copyto', 'tree/large', 'album:album/ä b/large');
  t.match(await rclone('lsf', '-R', 'album:album'), 'ä b/large');
  t.match(await refused('/usr/bin/rclone', '--config', at('rclone.conf'), 'lsf', 'album:restic'), /AccessDenied/);
  const link = (await zoneplane('bucket', 'link', 'album', 'ä b/large', '--expires', '60')).trim();
  const octets = Buffer.from(await (await fetch(link)).arrayBuffer());
  t.ok(octets.equals(readFileSync(at('tree/large'))));
  t.equal((await fetch(link, { method: 'DELETE' })).status, 403);
  const put = (await zoneplane('bucket', 'link', 'album', 'new', '--method', 'PUT', '--json')).trim();
  t.equal((await fetch((JSON.parse(put) as { url: string }).url, { method: 'PUT', body: 'x' })).status, 200);
  const reader = ['bucket', 'key', 'create', 'album', '--read-only', '--days', '1', '--json'];
  t.match(JSON.parse(await zoneplane(...reader)), { endpoint, region: 'auto', bucket: 'album', expires_on: /T/ });
});
