/** A new zone: by its name, or from a zone file, with a look at what would be made and at every problem of the file. */

import { useEffect, useState } from 'preact/hooks';
import { call, pathWith } from '../../api.js';
import { Button } from '../../kit/button.js';
import { Switch, TextField } from '../../kit/form.js';
import { useSending } from '../../load.js';
import { count } from '../../parts/count.js';
import { Curl, type Request } from '../../parts/curl.js';
import { Dialog } from '../../parts/dialog.js';
import { ErrorNote, Loading } from '../../parts/notes.js';
import { oneWord } from '../../parts/typed.js';
import { go, useIsHere } from '../../router.js';
import type { Zone, ZoneFileResult } from '../../types.js';

interface NewZoneProps {
  /** The file that was dropped, if any. */
  readonly file: File | undefined;
  readonly onClose: () => void;
}

export function NewZone({ file: dropped, onClose }: NewZoneProps) {
  const [file, setFile] = useState(dropped);
  return (
    <Dialog title={file ? `New zone from ${file.name}` : 'New zone'} onClose={onClose}>
      {file ? (
        <FromFile key={`${file.name} ${file.lastModified}`} file={file} onClose={onClose} />
      ) : (
        <ByName onClose={onClose} onFile={setFile} />
      )}
    </Dialog>
  );
}

function ByName({ onClose, onFile }: { readonly onClose: () => void; readonly onFile: (file: File) => void }) {
  const [name, setName] = useState('');
  const [isCopy, setCopy] = useState(false);
  const sending = useSending();
  const isHere = useIsHere();
  const body = { name: oneWord(name), ...(isCopy && { type: 'secondary' }) };
  const create = (event: SubmitEvent): void => {
    event.preventDefault();
    void sending.run(async () => {
      const { result } = await call<Zone>('POST', '/zones', { body });
      if (!isHere()) return;
      onClose();
      const zone = result.status === 'active' ? encodeURIComponent(result.name) : result.id;
      go(`/zones/${zone}/${isCopy ? 'transfers' : 'records'}`);
    });
  };
  // The refusal of a network ends with the name of its reverse zone.
  const reverseZone = /(\S+\.(?:in-addr|ip6)\.arpa)\.$/.exec(sending.error?.message ?? '')?.[1];
  return (
    <form class="stack" onSubmit={create}>
      <TextField
        label="Name of the domain"
        type="text"
        required
        autofocus
        spellcheck={false}
        placeholder="example.com"
        value={name}
        aria-invalid={sending.error ? 'true' : undefined}
        onChange={setName}
      />
      <Switch
        label={
          <>
            Copy it from another server{' '}
            <span class="hint">A secondary zone: its records are edited there, and transferred to here.</span>
          </>
        }
        checked={isCopy}
        onChange={setCopy}
      />
      {sending.error && <ErrorNote error={sending.error} />}
      {reverseZone !== undefined && (
        <button
          type="button"
          onClick={() => {
            setName(reverseZone);
            sending.clear();
          }}
        >
          Use <span class="mono">{reverseZone}</span>
        </button>
      )}
      <div class="dialog-actions">
        <button type="submit" class="primary" disabled={sending.busy}>
          {sending.busy ? 'Creating…' : 'Create the zone'}
        </button>
        <FileButton onFile={onFile} />
      </div>
      <Curl request={{ method: 'POST', path: '/zones', body: { ...body, name: body.name || 'example.com' } }} />
    </form>
  );
}

/** Chooses a file; one can also be dropped anywhere on the page. */
function FileButton({ onFile }: { readonly onFile: (file: File) => void }) {
  return (
    <label class="button">
      From a zone file…
      <input
        class="hidden"
        type="file"
        onChange={(event) => {
          const [file] = event.currentTarget.files ?? [];
          if (file) onFile(file);
        }}
      />
    </label>
  );
}

const PAUSE_MS = 300;

function FromFile({ file, onClose }: { readonly file: File; readonly onClose: () => void }) {
  const [name, setName] = useState('');
  const [options, setOptions] = useState({ automatic_soa: false, proxied: false, strip_dnssec: false });
  const [preview, setPreview] = useState<ZoneFileResult>();
  const looking = useSending();
  const saving = useSending();
  const isHere = useIsHere();
  const path = pathWith('/zones/import', {
    name: oneWord(name),
    ...Object.fromEntries(Object.entries(options).map(([option, on]) => [option, on ? 'true' : undefined])),
  });
  useEffect(() => {
    const ended = new AbortController();
    const timer = setTimeout(() => {
      void looking.run(async () => {
        const joined = `${path}${path.includes('?') ? '&' : '?'}dry_run=true`;
        const { result } = await call<ZoneFileResult>('POST', joined, { body: file });
        // Answers of large files may come in another order: that of other options is not the preview of these.
        if (!ended.signal.aborted) setPreview(result);
      });
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      ended.abort();
    };
  }, [path, file]);
  const save = (): void => {
    void saving.run(async () => {
      const { result } = await call<ZoneFileResult>('POST', path, { body: file });
      if (!result.imported) {
        setPreview(result);
        return;
      }
      if (!isHere()) return;
      onClose();
      go(`/zones/${result.id}/records`);
    });
  };
  const set = (option: keyof typeof options) => (event: { readonly currentTarget: HTMLInputElement }) =>
    setOptions({ ...options, [option]: event.currentTarget.checked });
  const error = saving.error ?? looking.error;
  const request: Request = { method: 'POST', path, file: file.name };
  return (
    <div class="stack">
      <TextField
        label="Name of the zone"
        type="text"
        spellcheck={false}
        placeholder={preview?.name ?? 'As the file says'}
        value={name}
        onChange={setName}
      />
      <fieldset class="checks">
        <legend class="hidden">Options</legend>
        <label class="check">
          <input type="checkbox" checked={options.automatic_soa} onChange={set('automatic_soa')} />
          <span>Use the SOA and the name servers of this service, not those of the file</span>
        </label>
        <label class="check">
          <input type="checkbox" checked={options.proxied} onChange={set('proxied')} />
          <span>Proxy all addresses and aliases through the edge</span>
        </label>
        <label class="check">
          <input type="checkbox" checked={options.strip_dnssec} onChange={set('strip_dnssec')} />
          <span>Leave out the signatures and keys of a signed zone</span>
        </label>
      </fieldset>
      {error && <ErrorNote error={error} />}
      {!preview && !error && <Loading what="the file" />}
      {preview && !error && <Preview preview={preview} busy={looking.busy} />}
      <div class="dialog-actions">
        <Button
          class="primary"
          disabled={!preview?.imported || looking.busy || saving.busy || error !== undefined}
          onClick={save}
          text={saving.busy ? 'Creating…' : 'Create the zone'}
        />
        <Button onClick={onClose} text="Cancel" />
      </div>
      <Curl request={request} />
    </div>
  );
}

const NO_NAME = 'The file does not say which zone it is. Type the name of the zone above.';

/** Problems that are shown. */
const MOST_ISSUES = 200;

/** What is about the whole file, such as how many others were left out, comes last. */
function inOrder(issues: ZoneFileResult['issues']): ZoneFileResult['issues'] {
  const ofLines = issues.filter(({ line }) => line !== null);
  return [...ofLines, ...issues.filter(({ line }) => line === null)].slice(0, MOST_ISSUES);
}

function Preview({ preview, busy }: { readonly preview: ZoneFileResult; readonly busy: boolean }) {
  const { imported, name, records, duplicates, serial, issues, issues_total: total } = preview;
  return (
    <section aria-label="What would be made" aria-busy={busy} class="stack">
      <div class={`note ${imported ? 'note-good' : 'note-error'}`} role="status">
        {imported ? (
          <p>
            <strong>{name}</strong> with {count(records)} records would be created, serial {serial}
            {duplicates > 0 && `; ${count(duplicates)} that the file has twice are left out`}.
          </p>
        ) : (
          <p>The file has errors. Nothing would be created before they are corrected.</p>
        )}
      </div>
      {issues.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        <section class="issues" aria-label="Problems of the file" tabIndex={0}>
          <ul class="plain">
            {inOrder(issues).map((issue) => (
              <li key={`${issue.line} ${issue.column} ${issue.code}`} class={issue.severity}>
                <span class="line">{issue.line === null ? 'File' : `Line ${issue.line}`}</span>
                <span class={`chip ${issue.severity === 'error' ? 'bad' : 'wait'}`}>
                  {issue.severity === 'error' ? 'Error' : 'Note'}
                </span>
                <span class="message">
                  {issue.code === 'no-origin' ? NO_NAME : issue.message}
                  {issue.text !== null && (
                    <>
                      {' '}
                      <code>{issue.text}</code>
                    </>
                  )}
                </span>
              </li>
            ))}
          </ul>
          {total > MOST_ISSUES && <p class="muted">and {count(total - MOST_ISSUES)} more</p>}
        </section>
      )}
    </section>
  );
}
