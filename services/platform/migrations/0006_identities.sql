-- People who sign in through an identity provider.

-- An identity is the issuer and its `sub`; an e-mail address may change hands, and is nobody's proof of anything here.
alter table users add column issuer text check (issuer ~ '^https?://');
alter table users add column subject text check (length(subject) between 1 and 255);
alter table users add check ((issuer is null) = (subject is null));
alter table users add check (issuer is null or password_hash is null);
alter table users add unique (issuer, subject);
-- Providers may give no address, and the same one as that of a local account.
alter table users alter column email drop not null;
alter table users add check (issuer is not null or email is not null);
alter table users drop constraint users_email_key;
create unique index users_local_email on users (email) where issuer is null;

-- A role may be granted here and by a claim; each source withdraws its own only.
alter table user_roles add column source text not null default 'local' check (source in ('local', 'claim'));
alter table user_roles drop constraint user_roles_pkey;
alter table user_roles add primary key (user_id, role, source);

-- Shown to the identity provider at the sign-out; encrypted with a key that only the cookie can give.
alter table sessions add column sealed_id_token text;

-- Answers of an identity provider that were used: each is good for once, in every replica.
create table used_sign_ins (
  state_hash bytea primary key check (octet_length(state_hash) = 32),
  expires_at timestamptz not null
);
