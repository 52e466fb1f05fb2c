/** One bucket: its objects by prefix, upload with progress, download, and the names that show it to the public. */

import { useRef, useState } from 'preact/hooks';
import { ApiError, BASE, pathWith, upload } from '../../api.js';
import { useLoad, useSending } from '../../load.js';
import { NoAccount, useAccount } from '../../parts/account.js';
import { Confirm } from '../../parts/confirm.js';
import { count } from '../../parts/count.js';
import { Curl } from '../../parts/curl.js';
import { Empty, ErrorNote, Loading } from '../../parts/notes.js';
import { RowButton } from '../../parts/row-button.js';
import { Cell, Columns, TableFrame } from '../../parts/table.js';
import { Time } from '../../parts/time.js';
import { Link, usePlace, withQuery } from '../../router.js';
import type { ScreenProps } from '../../screen.js';
import { mayRead, mayWrite, usePermissions } from '../../session.js';
import type { BucketObject, ObjectListInfo } from '../../types.js';
import { Clients } from './clients.js';
import { DeleteBucket } from './delete-bucket.js';
import { isReachable, pathOfKey, shownKey } from './keys.js';
import { useLinks } from './links.js';
import { Readers } from './readers.js';
import { Rules } from './rules.js';

const PER_PAGE = 200;
const NOT_FOUND = 404;

export default function Bucket({ params }: ScreenProps) {
  const name = params['bucket']!;
  const chosen = useAccount();
  const { account } = chosen;
  const { query } = usePlace();
  const prefix = query.get('prefix') ?? '';
  const permissions = usePermissions();
  const base = account && `/accounts/${account.id}/r2/buckets/${encodeURIComponent(name)}`;
  const path =
    base &&
    pathWith(`${base}/objects`, {
      prefix,
      delimiter: '/',
      cursor: query.get('cursor') ?? undefined,
      per_page: PER_PAGE,
    });
  const { answer, error, busy, reload } = useLoad<BucketObject[]>(path);
  const info = answer?.info as unknown as ObjectListInfo | undefined;
  const writes = mayWrite(permissions, 'objects');
  const isMissing = error?.status === NOT_FOUND;
  const isEmpty = answer?.result.length === 0 && info?.delimited.length === 0;
  return (
    <>
      <div class="zone-head">
        <Link class="back" href="/buckets">
          Buckets
        </Link>
        <h1>{name}</h1>
      </div>
      <NoAccount chosen={chosen} what="buckets" />
      {isMissing && (
        <Empty title={`There is no bucket ${name}`}>
          <p>
            It may have been deleted, or belong to another account. <Link href="/buckets">Show all buckets</Link>
          </p>
        </Empty>
      )}
      {!isMissing && <Prefix prefix={prefix} />}
      {base && writes && !isMissing && <Upload base={base} prefix={prefix} onDone={reload} />}
      {error && !isMissing && <ErrorNote error={error} onRetry={reload} />}
      {!answer && !error && account && <Loading what="objects" />}
      {isEmpty && (
        <Empty title={prefix === '' ? 'The bucket is empty' : `Nothing begins with ${shownKey(prefix)}`}>
          <p>Drop files above, or send them with curl: the request is below.</p>
        </Empty>
      )}
      {base && answer && info && !isEmpty && (
        <Objects
          base={base}
          objects={answer.result}
          folders={info.delimited}
          prefix={prefix}
          busy={busy}
          writes={writes}
          onChange={reload}
        />
      )}
      {info?.cursor !== undefined && (
        <p>
          <Link href={withQuery({ cursor: info.cursor })}>Next page</Link>
        </p>
      )}
      {base && !isMissing && mayRead(permissions, 'buckets') && <Readers base={base} />}
      {base && !isMissing && mayRead(permissions, 'buckets') && <Rules base={base} />}
      {base && !isMissing && mayWrite(permissions, 'userTokens') && <Clients base={base} />}
      {base && !isMissing && mayWrite(permissions, 'buckets') && <DeleteBucket base={base} name={name} />}
      {base && path && !isMissing && (
        <Curl
          request={{ method: 'GET', path }}
          {...(writes && {
            others: {
              'Store an object': {
                method: 'PUT',
                path: `${base}/objects/${pathOfKey(prefix)}hello.txt`,
                headers: { 'content-type': 'text/plain' },
                file: 'hello.txt',
              },
              'Make a link that holds for an hour': {
                method: 'POST',
                path: `${base}/links`,
                body: { key: `${prefix}hello.txt`, expires: 3600 },
              },
              'Delete an object': { method: 'DELETE', path: `${base}/objects/${pathOfKey(prefix)}hello.txt` },
            },
          })}
        />
      )}
    </>
  );
}

/** Where we are, with a link to every part. */
function Prefix({ prefix }: { readonly prefix: string }) {
  // Two slashes in a row, or one at the beginning, are a part without a name.
  const parts = prefix === '' ? [] : prefix.split('/').slice(0, prefix.endsWith('/') ? -1 : undefined);
  return (
    <nav class="crumbs" aria-label="Prefix">
      <Link href={withQuery({ prefix: undefined, cursor: undefined })}>All objects</Link>
      {parts.map((part, i) => (
        <span key={`${i} ${part}`}>
          {' / '}
          <Link href={withQuery({ prefix: `${parts.slice(0, i + 1).join('/')}/`, cursor: undefined })}>
            <bdi dir="ltr">{part === '' ? '(no name)' : shownKey(part)}</bdi>
          </Link>
        </span>
      ))}
    </nav>
  );
}

interface Transfer {
  readonly name: string;
  /** 0 to 1. */
  readonly done: number;
  readonly error?: string;
}

interface UploadProps {
  readonly base: string;
  readonly prefix: string;
  readonly onDone: () => void;
}

function Upload({ base, prefix, onDone }: UploadProps) {
  const [transfers, setTransfers] = useState<readonly Transfer[]>([]);
  const [over, setOver] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const note = (name: string, change: Partial<Transfer>): void =>
    setTransfers((before) =>
      before.map((transfer) => (transfer.name === name ? { ...transfer, ...change } : transfer)),
    );
  const send = async (files: readonly File[]): Promise<void> => {
    setTransfers(files.map(({ name }) => ({ name, done: 0 })));
    for (const file of files) {
      try {
        await upload(`${base}/objects/${pathOfKey(prefix + file.name)}`, file, (done) => note(file.name, { done }));
        note(file.name, { done: 1 });
      } catch (error) {
        note(file.name, { error: error instanceof ApiError ? error.message : String(error) });
      }
    }
    onDone();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: dropping is a second way; the field inside is the first
    <div
      class={over ? 'upload upload-over' : 'upload'}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        void send([...(event.dataTransfer?.files ?? [])]);
      }}
    >
      <label class="upload-field">
        <span>Drop files here, or choose them</span>
        <span class="button" aria-hidden="true">
          Choose files
        </span>
        <input
          ref={field}
          class="hidden"
          type="file"
          multiple
          onChange={(event) => void send([...(event.currentTarget.files ?? [])])}
        />
      </label>
      {transfers.map(({ name, done, error }) => (
        <p key={name} class="transfer" role="status">
          <span class="mono">{name}</span>
          {error === undefined ? (
            <progress max={1} value={done} aria-label={`Upload of ${name}`} />
          ) : (
            <span class="problem">{error}</span>
          )}
          <span class="muted">{error === undefined && (done === 1 ? 'Stored' : `${Math.floor(done * 100)} %`)}</span>
        </p>
      ))}
    </div>
  );
}

interface ObjectsProps {
  readonly base: string;
  readonly objects: readonly BucketObject[];
  readonly folders: readonly string[];
  readonly prefix: string;
  readonly busy: boolean;
  readonly writes: boolean;
  readonly onChange: () => void;
}

function Objects({ base, objects, folders, prefix, busy, writes, onChange }: ObjectsProps) {
  const sending = useSending(onChange);
  const links = useLinks(base);
  const remove = (key: string): void => void sending.send('DELETE', `${base}/objects/${pathOfKey(key)}`);
  return (
    <>
      {sending.error && <ErrorNote error={sending.error} />}
      {objects.length > 0 && links.shown}
      <TableFrame label="Objects" class="stacked" busy={busy}>
        <Columns names={['Key', 'Size', 'Type', 'Stored']} numbers={['Size']} actions />
        <tbody>
          {folders.map((folder) => (
            <tr key={folder}>
              <th scope="row" colSpan={5}>
                <Link class="name" href={withQuery({ prefix: folder, cursor: undefined })}>
                  <bdi dir="ltr">{shownKey(folder.slice(prefix.length))}</bdi>
                </Link>
              </th>
            </tr>
          ))}
          {objects.map((object) => (
            <tr key={object.key}>
              <th scope="row">
                <ObjectName base={base} objectKey={object.key} shown={object.key.slice(prefix.length)} />
              </th>
              <td class="number">{bytes(object.size)}</td>
              <td class="muted">{object.http_metadata.contentType ?? '–'}</td>
              <Cell class="muted" name="Stored" value={<Time at={object.last_modified} />} />
              <td class="row-actions">
                {object.key !== '' && (
                  <RowButton
                    verb="Copy link"
                    what={`to ${object.key}`}
                    busy={links.busy}
                    onClick={() => links.copy(object.key)}
                  />
                )}
                {writes && isReachable(object.key) && (
                  <Confirm what={object.key} busy={sending.busy} quiet onConfirm={() => remove(object.key)} />
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </TableFrame>
    </>
  );
}

interface ObjectNameProps {
  readonly base: string;
  readonly objectKey: string;
  /** The key without the prefix. */
  readonly shown: string;
}

function ObjectName({ base, objectKey, shown }: ObjectNameProps) {
  if (!isReachable(objectKey)) {
    return (
      <>
        {shown}
        <p class="hint">
          Browsers cannot ask for this key. <code>curl --path-as-is</code> can.
        </p>
      </>
    );
  }
  return (
    <a class="name" href={`${BASE}${base}/objects/${pathOfKey(objectKey)}`} download={fileName(objectKey)}>
      <bdi dir="ltr">{shownKey(shown)}</bdi>
    </a>
  );
}

function fileName(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1);
}

const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB'] as const;

function bytes(size: number): string {
  let unit = 0;
  let value = size;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return size === 1 ? '1 byte' : `${count(value)} ${UNITS[unit]}`;
}
