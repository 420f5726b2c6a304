package dashboard

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
)

// policy lets a page load its own style sheet and script and nothing else: no inline code, no frames, no other host.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// harden sets what every answer has, also that to a stranger.
func harden(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin") // no-referrer would take the Origin from forms
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("X-Robots-Tag", "noindex, nofollow")
	h.Set("Cache-Control", "no-store")
}

// cached lets a visitor's browser keep what holds nothing of the store. Its address changes with its content.
func cached(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "private, max-age=86400")
		next.ServeHTTP(w, r)
	})
}

const (
	secretCookie = "postroom_csrf"
	secretBytes  = 32
)

// secretOf returns the visitor's secret: a cookie that no script and no other site can read or have sent. It needs no
// memory here, so any process behind a balancer can check what another one has made.
func secretOf(r *http.Request) ([]byte, bool) {
	cookie, err := r.Cookie(secretCookie)
	if err != nil {
		return nil, false
	}
	secret, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	return secret, err == nil && len(secret) == secretBytes
}

// keepSecret returns the visitor's secret, and gives them one if they have none.
func keepSecret(w http.ResponseWriter, r *http.Request) []byte {
	if secret, ok := secretOf(r); ok {
		return secret
	}
	secret := make([]byte, secretBytes)
	rand.Read(secret) // never fails
	http.SetCookie(w, &http.Cookie{
		Name: secretCookie, Value: base64.RawURLEncoding.EncodeToString(secret), Path: "/",
		HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https",
	})
	return secret
}

// token is what a form of a visitor carries.
func token(secret []byte, form, visitor string) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(form + "\x00" + visitor))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// hasToken reports whether a form was made for this visitor.
func hasToken(r *http.Request, form, visitor string) bool {
	secret, ok := secretOf(r)
	return ok && hmac.Equal([]byte(r.PostFormValue("token")), []byte(token(secret, form, visitor)))
}
