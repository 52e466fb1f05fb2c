/** Findings of checkers that report many problems at once: zone files, imports, lint. */

export type Severity = 'error' | 'warning';

export interface Issue {
  readonly severity: Severity;
  /** Stable kebab-case key, such as `bad-rdata` or `cname-with-other-data`. */
  readonly code: string;
  readonly message: string;
  /** File as the user named it; absent for text sent over the API. */
  readonly file?: string;
  /** 1-based; absent when the finding concerns the zone as a whole. */
  readonly line?: number;
  /** 1-based, in octets. */
  readonly column?: number;
  /** The invalid text, shortened. */
  readonly text?: string;
}

/** `file:line:column: severity: message`, the format of compilers, so that editors can jump to the place. */
export function formatIssue(issue: Issue): string {
  const place = [issue.file ?? 'zone', issue.line, issue.column].filter((part) => part !== undefined).join(':');
  const text = issue.text === undefined ? '' : ` (at '${issue.text}')`;
  return `${place}: ${issue.severity}: ${issue.message}${text}`;
}
